"""Real engines in their own processes, killed and started again."""
