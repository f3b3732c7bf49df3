"""The process around the engine."""
