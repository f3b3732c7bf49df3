"""What watches the world: one module or package per kind of source.

A source speaks of occurrences and hands them to a seam; it never reaches the store, the runners or
another engine module.
"""
