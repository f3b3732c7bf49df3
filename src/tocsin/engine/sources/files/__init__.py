"""Folder and file watches, one `FilesSource` per installation.

Watchdog's events are hints; the truth is what `stat` says against the marks of the last settled
states. From the outside in: ``source`` (the loop) · ``root`` (one watched path: its watch, its
health) · ``hub`` and ``hints`` (the only modules that know watchdog) · ``scan`` (the only module
that looks at the disk) · ``settling``, ``changes``, ``scope``, ``payload``, ``props`` (pure).
"""
