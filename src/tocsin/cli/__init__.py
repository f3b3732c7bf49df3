"""The command line: typer commands, one module per group, over the verbs and the read side of the store.

``main`` assembles the application and is the only place with a broad `except`. ``session`` is what the
global options came to; ``link`` changes things (through the engine's socket, or straight when no engine
is up); ``reading`` reads the database beside the engine; ``documents`` makes the JSON of INTERFACE
section 4, ``render`` prints it or a table, ``exits`` knows the exit codes.

Commands import what they need inside their functions, and only there: typer has to import every
command's module to know its options, and `tocsin --help` or a completion must not wait for
pydantic, SQLite and an HTTP library.
"""
