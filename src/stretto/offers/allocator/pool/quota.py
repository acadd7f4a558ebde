"""Quota as arrays: guarantees, limits and consumption of all roles that have a quota.

One row is a role, one column a resource, int64 in thousandths. A cycle starts from these arrays;
its decisions about single roles read the role.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.offers.allocator.subjects.quota import RoleQuota

Amounts64 = npt.NDArray[np.int64]
"""Amounts in thousandths."""

UNLIMITED: Final = np.iinfo(np.int64).max
"""A limit that never binds."""


class QuotaTable:
    """The arrays, with free rows."""

    def __init__(self) -> None:
        """Start without rows."""
        self._columns: dict[str, int] = {}
        self._free: list[int] = []
        self._rows = 0
        #: Guarantees [row, column].
        self.guarantee: Amounts64 = np.zeros((0, 0), np.int64)
        #: Limits [row, column].
        self.limit: Amounts64 = np.zeros((0, 0), np.int64)
        #: Reservations plus unreserved, non-revocable holdings [row, column].
        self.consumed: Amounts64 = np.zeros((0, 0), np.int64)

    def __bool__(self) -> bool:
        return self._rows > len(self._free)

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self._columns)

    def put(self, row: int, quota: RoleQuota) -> int:
        """Write a quota into a row, or into a new one for -1; return the row."""
        if row < 0:
            row = self._free.pop() if self._free else self._rows
            self._rows = max(self._rows, row + 1)
        columns = [self._column(name) for name in (*quota.guarantees, *quota.limits)]
        self._grow(row, max(columns, default=-1))
        self.guarantee[row] = 0
        self.limit[row] = UNLIMITED
        for name, amount in quota.guarantees.items():
            self.guarantee[row, self._columns[name]] = amount
        for name, amount in quota.limits.items():
            self.limit[row, self._columns[name]] = amount
        return row

    def remove(self, row: int) -> None:
        """Clear a row."""
        self.guarantee[row] = 0
        self.limit[row] = UNLIMITED
        self.consumed[row] = 0
        self._free.append(row)

    def reset(self, row: int, amounts: Iterable[tuple[str, int]]) -> None:
        """Replace the consumption of a row."""
        self.consumed[row] = 0
        self.add(row, amounts, 1)

    def add(self, row: int, amounts: Iterable[tuple[str, int]], sign: int) -> None:
        """Change the consumption of a row; resources without any quota are ignored."""
        consumed, columns = self.consumed[row], self._columns
        for name, amount in amounts:
            column = columns.get(name)
            if column is not None:
                consumed[column] += sign * amount

    def lacks(self) -> Amounts64:
        """Unsatisfied amounts of the guarantees [row, column]."""
        lacks: Amounts64 = np.maximum(self.guarantee - self.consumed, 0)
        return lacks

    def lacking(self) -> set[int]:
        """Rows whose guarantee is not satisfied."""
        return set(np.flatnonzero(self.lacks().any(axis=1)).tolist())

    def _column(self, name: str) -> int:
        return self._columns.setdefault(name, len(self._columns))

    def _grow(self, row: int, column: int) -> None:
        rows, columns = self.limit.shape
        if row < rows and column < columns:
            return
        shape = (max(rows, 2 * row + 1), max(columns, column + 1))
        for name, fill in (("guarantee", 0), ("limit", UNLIMITED), ("consumed", 0)):
            grown = np.full(shape, fill, np.int64)
            grown[:rows, :columns] = getattr(self, name)
            setattr(self, name, grown)
