"""The process around the engine: composition, lock, run, logs.

``wiring`` is the composition root, the only module that names concrete classes together. ``run`` is
`tocsin up`, ``local`` serves verbs and fires while no engine is up, ``testing`` is `tocsin test`,
``lock`` keeps one engine to a home, ``logs`` words the notices, ``reload`` follows the configuration.
"""
