"""Sets of rows that take little room: the members of a gang that have nodes.

A million running pods may be members, and one entry of Python's own sets costs a hundred bytes with
its number. Here most rows stand in a sorted array of four bytes each; what has come and gone since
is kept beside it, until that is a part of the whole that is worth sorting in.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

SPARED: Final = 16
"""Rows that may always stand beside the array."""


class RowSet(Collection[int]):
    """A set of rows."""

    __slots__ = ("_came", "_length", "_sorted", "_went")

    def __init__(self) -> None:
        """Start empty."""
        self._sorted = array("i")
        #: Rows that are not in the array though they belong to the set; ``None`` for none.
        self._came: set[int] | None = None
        #: Rows that are in the array though they do not; ``None`` for none.
        self._went: set[int] | None = None
        self._length = 0

    def __len__(self) -> int:
        """How many rows."""
        return self._length

    def __contains__(self, row: object) -> bool:
        """Whether a row is one of them."""
        if self._came is not None and row in self._came:
            return True
        if not isinstance(row, int) or (self._went is not None and row in self._went):
            return False
        at = bisect_left(self._sorted, row)
        return at < len(self._sorted) and self._sorted[at] == row

    def __iter__(self) -> Iterator[int]:
        """The rows, those last that came last."""
        yield from self._sorted if self._went is None else self._remaining(self._went)
        if self._came is not None:
            yield from self._came

    def add_all(self, rows: AbstractSet[int]) -> None:
        """Rows join, as far as they have not."""
        if not self._length:
            self._keep(rows)
            return
        fresh = {row for row in rows if row not in self}
        self._length += len(fresh)
        if self._went is not None:
            back = fresh & self._went
            self._went -= back
            fresh -= back
        self._came = _with(self._came, fresh)
        self._settle()

    def remove_all(self, rows: AbstractSet[int]) -> None:
        """Rows leave, as far as they are here."""
        gone = {row for row in rows if row in self}
        self._length -= len(gone)
        if self._came is not None:
            came = gone & self._came
            self._came -= came
            gone -= came
        self._went = _with(self._went, gone)
        self._settle()

    def _remaining(self, went: set[int]) -> Iterator[int]:
        return (row for row in self._sorted if row not in went)

    def _settle(self) -> None:
        """Sort in what stands beside the array, if that is much."""
        beside = len(self._came or ()) + len(self._went or ())
        if beside > SPARED + (len(self._sorted) >> 2):
            self._keep(list(self))

    def _keep(self, rows: Collection[int]) -> None:
        """These are the rows, and nothing stands beside the array."""
        self._sorted, self._length = array("i", sorted(rows)), len(rows)
        self._came = self._went = None


def _with(some: set[int] | None, more: set[int]) -> set[int] | None:
    """A set that more rows join; nothing is kept of an empty one."""
    if some is None:
        return more or None
    some |= more
    return some
