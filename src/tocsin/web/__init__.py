"""HTTP: deliveries come in here, programs ask and command here. A face of the engine, never a part of it.

``app`` (routes) · ``guards`` and ``peers`` (who may speak at all, and how often in vain) · ``ingress``
(deliveries: ``addresses``, ``reading`` within ``room``, ``proving`` with ``accounts``, ``strays``,
``standing``, ``body``, ``handing`` with ``delivery_ids`` and ``describing``, ``outcomes``, ``waiting`` as
``preferring`` asks) · ``arrival`` and ``disclosure`` (what is kept of a request) · ``control`` (the verbs) ·
``status`` (health, one event) · ``serve`` (TCP and Unix sockets) · ``refusals`` and ``answers`` (what is
said). Everything
it changes goes through ``Accept`` or ``engine.verbs``; it reads rows, and writes none.
"""
