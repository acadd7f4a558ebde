"""Starts that a round of conservative backfill keeps from the round before.

The start of a unit depends on the capacity from now until the end of its reservation, and on
earlier reservations. The changes since the last round form one interval that begins now: a pod
ended early, a pod exceeds its estimate, or a unit left. A unit keeps its start if no change in that
interval lets it start earlier and if its reservation is after the interval. Otherwise its start is
searched, and the interval is extended by the changes of its reservation. Every kept start equals
the result of the search. If nothing has changed, the present offers no more capacity than the
instant before it, which an earlier round refused: capacity becomes free only at instants.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stretto.control.queues.timetable import Timetable
from stretto.state.queues.end_times import NEVER
from stretto.state.queues.starts import StartGround, StartJob, StartReservation


class PlannedStart(NamedTuple):
    """The start of one unit in a round."""

    #: Pods of the unit.
    job: StartJob
    #: Reservation of the unit; ``None`` if it never fits.
    found: StartReservation | None


class KeptStarts(NamedTuple):
    """Result of a round, as input of the next one."""

    #: The capacity of the round.
    ground: StartGround
    #: The start of each unit by its key, in order of rank.
    planned: Mapping[str, PlannedStart]


class StartPlan:
    """The starts of one round; it keeps those of the round before if they are still valid."""

    def __init__(self, table: Timetable, before: KeptStarts | None) -> None:
        """Plan in a timetable without reservations."""
        #: The start of each unit by its key, in order of rank.
        self.planned: dict[str, PlannedStart] = {}
        #: Number of units whose start was searched.
        self.searches = 0
        self._table = table
        self._before = {} if before is None else before.planned
        self._order = list(self._before)
        self._place = {key: i for i, key in enumerate(self._order)}
        self._next = 0
        self._changed = NEVER
        self._running: set[int] = set()
        if before is not None and not table.reservations:
            known = [found for each in self._before.values() if (found := self._due(each))]
            self._changed = table.ground.changed_until(before.ground, known)
            self._running = {each.job.rows[0] for each in known}

    def earliest(self, key: str, job: StartJob) -> StartReservation | None:
        """The earliest reservation of the next unit in order; ``None`` if it never fits."""
        kept = self._advance(key)
        found = kept.found if kept is not None and kept.job == job and self._holds(kept) else None
        if found is None:
            self.searches += 1
            found = self._table.earliest(job)
        self.note(key, job, found, kept)
        return found

    def note(
        self,
        key: str,
        job: StartJob,
        found: StartReservation | None,
        kept: PlannedStart | None = None,
    ) -> None:
        """Record the reservation of the next unit.

        Later units see its difference from the round before.
        """
        kept = self._advance(key) if kept is None else kept
        before = None if kept is None else kept.found
        if not _same(before, found):
            self._change(before)
            self._change(found)
        self.planned[key] = PlannedStart(job, found)

    def _advance(self, key: str) -> PlannedStart | None:
        """Earlier start of a unit; removed units before it release their capacity."""
        at = self._place.get(key, -1)
        if at < self._next:
            return None
        for gone in self._order[self._next : at]:
            each = self._before[gone]
            if self._due(each) is None or each.job.rows[0] not in self._running:
                self._change(each.found)
        self._next = at + 1
        return self._before[key]

    def _holds(self, kept: PlannedStart) -> bool:
        """Return whether a search would find the same reservation."""
        found, table = kept.found, self._table
        if found is None or found.start <= table.now or found.start < self._changed:
            return False
        if not table.has_instant(found.start):
            return False
        return self._changed <= table.now or not table.may_start_before(kept.job, self._changed)

    def _due(self, each: PlannedStart) -> StartReservation | None:
        """Reservation of a unit whose start time has come."""
        found = each.found
        return found if found is not None and found.start <= self._table.now else None

    def _change(self, found: StartReservation | None) -> None:
        """Record that a reservation is new or gone."""
        if found is not None:
            self._changed = max(self._changed, found.end)


def _same(left: StartReservation | None, right: StartReservation | None) -> bool:
    """Return whether two reservations use the same capacity."""
    if left is None or right is None:
        return left is right
    return (left.start, left.end, left.job, left.placement) == (
        right.start,
        right.end,
        right.job,
        right.placement,
    )
