"""What a files source had in view before: so that widening its patterns fires nothing old.

Pure. Each root's rules stand among the installation's marks, under a path that no file can have
(it begins with a NUL); `size` and `inode` of such a mark are the root's own device and inode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tocsin.engine.sources.files.scope import Scope
from tocsin.seams import FileMark

PREFIX = b"\0scope:"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which folder this is, whatever it is called."""

    device: int
    inode: int


NOWHERE = Identity(0, 0)  # a root that did not exist when it was first armed
Marks: TypeAlias = list[FileMark]


def is_rule(mark: FileMark) -> bool:
    """Whether a mark is one of these, not a file's."""
    return mark.path.startswith(PREFIX)


class Territory:
    """The rules in force when the marks were last written."""

    def __init__(self, marks: Iterable[FileMark]) -> None:
        self._rules = {mark.path: mark for mark in marks if is_rule(mark)}
        live = [path for path, mark in self._rules.items() if not mark.gone]
        self._scopes = [Scope.from_key(path.removeprefix(PREFIX)) for path in live]

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever in view."""
        return not self._scopes

    def saw(self, path: bytes) -> bool:
        """Whether a file at this path was covered before this source started."""
        return any(scope.covers(path) for scope in self._scopes)

    def device_of(self, root: Scope) -> int | None:
        """The device the root was last seen on; None when that is not known."""
        mark = self._rules.get(PREFIX + root.key)
        return mark.size or None if mark is not None and not mark.gone else None

    def missing(self, root: Scope, identity: Identity, roots: Iterable[bytes]) -> Marks:
        """The marks to write so that this one root's rules are remembered; none when they are.

        identity: the root's. roots: every root now configured; rules of others are retired.
        """
        key = PREFIX + root.key
        known = self._rules.get(key)
        if known and not known.gone and Identity(known.size, known.inode) == identity:
            return []
        generation = known.generation + 1 if known else 1
        mark = FileMark(
            path=key, generation=generation, size=identity.device, mtime_ns=0, inode=identity.inode
        )
        return [mark, *self._outlived(key, root.roots, frozenset(roots))]

    def remember(self, marks: Iterable[FileMark]) -> None:
        """These are written; what `saw` says stays as it was."""
        self._rules |= {mark.path: mark for mark in marks if is_rule(mark)}

    def _outlived(self, key: bytes, renewed: tuple[bytes, ...], roots: frozenset[bytes]) -> Marks:
        current = roots.difference(renewed)
        return [
            replace(mark, gone=True, generation=mark.generation + 1)
            for path, mark in self._rules.items()
            if path != key
            and not mark.gone
            and current.isdisjoint(Scope.from_key(path.removeprefix(PREFIX)).roots)
        ]
