"""Compact sets of rows: the members of a gang that have nodes.

A million running pods may be members, and an entry of Python's own set needs a hundred bytes with
its number. Here most rows are in a sorted array of four bytes each. Recent additions and removals
are kept next to it and are merged when there are many of them.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

SPARED: Final = 16
"""Number of unmerged rows that is always allowed."""


class RowSet(Collection[int]):
    """A set of rows."""

    __slots__ = ("_added", "_length", "_removed", "_sorted")

    def __init__(self) -> None:
        """Start empty."""
        self._sorted = array("i")
        #: Rows of the set that are not in the array; ``None`` for none.
        self._added: set[int] | None = None
        #: Rows of the array that were removed from the set; ``None`` for none.
        self._removed: set[int] | None = None
        self._length = 0

    def __len__(self) -> int:
        """Number of rows."""
        return self._length

    def __contains__(self, row: object) -> bool:
        """Return whether a row is in the set."""
        if self._added is not None and row in self._added:
            return True
        if not isinstance(row, int) or (self._removed is not None and row in self._removed):
            return False
        at = bisect_left(self._sorted, row)
        return at < len(self._sorted) and self._sorted[at] == row

    def __iter__(self) -> Iterator[int]:
        """The rows; recently added ones come last."""
        yield from self._sorted if self._removed is None else self._remaining(self._removed)
        if self._added is not None:
            yield from self._added

    def add_all(self, rows: AbstractSet[int]) -> None:
        """Add rows."""
        if not self._length:
            self._replace(rows)
            return
        fresh = {row for row in rows if row not in self}
        self._length += len(fresh)
        if self._removed is not None:
            back = fresh & self._removed
            self._removed -= back
            fresh -= back
        self._added = _with(self._added, fresh)
        self._settle()

    def remove_all(self, rows: AbstractSet[int]) -> None:
        """Remove rows."""
        removed = {row for row in rows if row in self}
        self._length -= len(removed)
        if self._added is not None:
            added = removed & self._added
            self._added -= added
            removed -= added
        self._removed = _with(self._removed, removed)
        self._settle()

    def _remaining(self, removed: set[int]) -> Iterator[int]:
        return (row for row in self._sorted if row not in removed)

    def _settle(self) -> None:
        """Merge additions and removals into the array once there are many."""
        beside = len(self._added or ()) + len(self._removed or ())
        if beside > SPARED + (len(self._sorted) >> 2):
            self._replace(list(self))

    def _replace(self, rows: Collection[int]) -> None:
        """Replace the content by these rows, all in the array."""
        self._sorted, self._length = array("i", sorted(rows)), len(rows)
        self._added = self._removed = None


def _with(some: set[int] | None, more: set[int]) -> set[int] | None:
    """Return the union with more rows; ``None`` if it is empty."""
    if some is None:
        return more or None
    some |= more
    return some
