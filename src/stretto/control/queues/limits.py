"""Victims under a limit: borrowed pods whose end lets a guaranteed unit start below the limit.

The order is the lowest priority first, then the shortest run time so far. A gang loses single pods
down to its minimum, and then all remaining pods together. Pods that are not needed in the end stay.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from stretto.state.queues.guarantees import GuaranteeBalance
from stretto.state.queues.tree import QueueBranch
from stretto.state.rows.pods import Pods
from stretto.state.work.evictions import EvictionState
from stretto.state.work.units import Units

Shortfall = Mapping[QueueBranch, Mapping[int, int]]
"""Amounts above a limit, by queue and column."""


class LimitVictims:
    """Chooses victims under limits."""

    def __init__(
        self,
        pods: Pods,
        units: Units,
        balance: GuaranteeBalance,
        may_evict: Callable[[int], bool],
    ) -> None:
        """Choose among the pods that may be evicted with the current balance."""
        self._pods = pods
        self._units = units
        self._balance = balance
        self._may_evict = may_evict
        self._gone: dict[int, None] = {}

    def choose(self, short: Shortfall, gone: Iterable[int]) -> tuple[int, ...] | None:
        """Rows to evict in addition to ``gone``; ``None`` if no set is sufficient.

        Args:
            short: the amounts above each limit, before any eviction.
            gone: rows that are evicted anyway; the balance does not count them yet.
        """
        balance, lacks = self._balance, short
        start = {(b, c): balance.used(b, c) for b, amounts in lacks.items() for c in amounts}
        first = balance.leave(gone)
        self._gone = dict.fromkeys(first)

        def covers() -> bool:
            return all(
                start[b, c] - balance.used(b, c) >= amount
                for b, amounts in lacks.items()
                for c, amount in amounts.items()
            )

        parts: list[list[int]] = []
        for row in self._candidates(lacks):
            if covers():
                break
            part = self._part(row)
            if part:
                parts.append(part)
        enough = covers()
        for part in reversed(parts) if enough else ():
            self._balance.come_back(part)
            if covers() and self._stays_whole(part):
                for row in part:
                    del self._gone[row]
            else:
                self._balance.leave(part)
        found = tuple(row for row in self._gone if row not in first)
        self._balance.come_back([*first, *(row for part in parts for row in part)])
        return found if enough else None

    def _candidates(self, lacks: Shortfall) -> list[int]:
        """Rows under the limits, the first victim first."""
        rows = {r for branch in lacks for r in self._balance.usage.rows_under(branch)}
        key = lambda row: (int(self._pods.priority[row]), -float(self._pods.started[row]), row)
        return sorted(rows.difference(self._gone), key=key)

    def _part(self, row: int) -> list[int]:
        """A pod, or the rest of its gang if the gang breaks.

        Empty if any of them may not be evicted.
        """
        if row in self._gone:
            return []
        part: list[int] = []
        for each in (row, *self._rest_of_gang(row)):
            if not self._may_evict(each):
                self._balance.come_back(part)
                for other in part:
                    del self._gone[other]
                return []
            part += self._balance.leave([each])
            self._gone[each] = None
        return part

    def _rest_of_gang(self, row: int) -> list[int]:
        """The other pods of a gang that would fall below its minimum without one pod."""
        unit = self._units.of_row(row)
        if unit is None or not unit.is_gang:
            return []
        left = self._left(unit.bound, row)
        return left if 0 < len(left) < unit.min_member else []

    def _stays_whole(self, part: list[int]) -> bool:
        """Return whether the gang of a spared part is complete, or all of it stays."""
        unit = self._units.of_row(part[0])
        if unit is None or not unit.is_gang:
            return True
        left = len(self._left(unit.bound, -1)) + len(part)
        return left >= unit.min_member

    def _left(self, rows: Collection[int], row: int) -> list[int]:
        """Rows of a unit that stay if one more row is removed."""
        evicted = self._pods.eviction_state
        return sorted(
            each
            for each in rows
            if each != row and each not in self._gone and int(evicted[each]) == EvictionState.NONE
        )
