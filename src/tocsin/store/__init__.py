"""The database: the only floor that knows SQLite.

``connection`` opens it and commits in groups, ``migrate`` brings it up to date, ``queries`` loads
the SQL texts, ``rows`` turns rows into records, and one small module of verbs per table speaks the
rest. Verbs take a ``Tx`` and run on the database's thread, inside a transaction.
"""
