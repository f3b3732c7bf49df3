"""Runners: each starts runs in its own way, behind `seams.Runner`.

``command`` starts local commands: ``invocation`` says what to execute (``placeholders``,
``environment``), ``process`` holds the process group, ``pipes`` moves the bytes, ``capture`` keeps
the log, ``outputs`` reads what the run reported, ``verdict`` says what the end means, ``leftovers``
stops what a dead engine left behind. The faces read ``logfile`` and ``environment``; both load
neither asyncio nor psutil.

Runners know the words, the pure floor and nothing of store or engine.
"""
