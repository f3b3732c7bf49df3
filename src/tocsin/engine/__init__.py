"""The engine: what happens between an occurrence and a settled event.

``accept`` (the one door, with ``admission`` and ``recognition``) · ``claims`` · ``attempt`` · ``settling`` ·
``disarming`` · ``clockwork`` (due schedules) · ``dispatch`` (the loop of the queue) · ``recovery``
(after a crash) · ``bookmarks`` (what file sources remember) · ``lifecycle`` (which sources run) ·
``applying`` (a configuration into rows) · ``controls`` (every verb of CLI and API, by name in
``verbs``). ``sources`` and ``runners`` hold one module per kind and never reach the store.
"""
