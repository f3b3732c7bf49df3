"""The command runner, proved with real little commands."""
