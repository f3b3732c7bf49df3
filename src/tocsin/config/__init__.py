"""The configuration: one TOML file and its `conf.d`, read, checked, converted, compared.

``load`` reads it into floor-0 records, ``lint`` warns about it, ``plan`` compares it with the rows
there are. ``paths`` says where a home keeps its things. Nothing here writes a row or contacts
anybody, and nothing is imported before it is asked for: pydantic is not cheap to load.
"""
