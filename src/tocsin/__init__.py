"""tocsin decides that something happened, once, writes it down and hands it on.

Floors, top to bottom; imports go down only (import contracts in ``pyproject.toml``):
``cli`` · ``daemon`` · ``web`` · ``engine`` (with ``sources`` and ``runners``) · ``store`` ·
``config`` · the pure modules (``settlement``, ``schedule``, ``cron``, …) and ``clock`` ·
the words (``errors``, ``registration``, ``event``, ``run``, ``settings``, ``notices``, ``seams``).
"""

__version__ = "0.1.0"
