"""Fires a trigger with one key after the other: `python -m tests.crash.firing NAME --wait|--no-wait KEY…`.

The command itself, as often as there are keys, in one process: loading it takes longer than what it does.
Prints a document for each key and exits with the worst exit code.
"""

from __future__ import annotations

import sys

from tocsin.cli.main import outcome


def main() -> int:
    """Fire."""
    name, flag, *keys = sys.argv[1:]
    return max(outcome(["fire", name, flag, "--json", "--key", key]) for key in keys)


if __name__ == "__main__":
    sys.exit(main())
