"""HTTP: deliveries come in here, programs ask and command here. A face of the engine, never a part of it.

``app`` (routes) · ``guards`` (who may speak at all) · ``ingress`` (deliveries, with ``reading``,
``body``, ``delivery_ids`` and ``disclosure``) · ``control`` (the verbs) · ``status`` (health, one
event) · ``serve`` (TCP and Unix sockets) · ``refusals`` and ``answers`` (what is said). Everything
it changes goes through ``Accept`` or ``engine.verbs``; it reads rows, and writes none.
"""
