"""The timetable of a backfilling queue: the expected start and the nodes of each waiting unit.

EASY makes a reservation for the head of the queue (Lifka 1995); conservative backfill makes one for
every waiting unit in order (Mu'alem and Feitelson 2001). A unit starts now if it fits during its
whole estimated run time next to the running pods and all reservations made before it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from stretto.state.queries.pool import Amounts
from stretto.state.queues.end_times import NEVER
from stretto.state.queues.starts import (
    Instant,
    StartGround,
    StartJob,
    StartPlacement,
    StartReservation,
    active,
)


class NodeGrounds(Protocol):
    """Builds the ground of a timetable from nodes."""

    def ground(self, running: Sequence[tuple[int, int]]) -> StartGround | None:
        """The nodes over time; ``None`` if the sum over all nodes is exact.

        Args:
            running: (expected end in microseconds, row) of running pods with an expected end.
        """
        ...


class PoolGround:
    """The cluster as one pool of amounts: exact for one node."""

    def __init__(
        self, free: Mapping[int, int], ends: Iterable[tuple[int, Mapping[int, int]]], now: int
    ) -> None:
        """Use free amounts by column, and (expected end, freed amounts), earliest first."""
        steps = [(expected_end(end, now), amounts) for end, amounts in ends]
        steps.sort(key=lambda each: each[0])
        columns = sorted({*free, *(column for _, amounts in steps for column in amounts)})
        self._column_of = {column: i for i, column in enumerate(columns)}
        freed = np.zeros((len(steps) + 1, len(columns)), np.int64)
        freed[0] = [free.get(column, 0) for column in columns]
        for number, (_, amounts) in enumerate(steps, 1):
            for column, amount in amounts.items():
                freed[number, self._column_of[column]] = amount
        #: int64[end, column]: free amounts after each number of ends.
        self._free = freed.cumsum(axis=0)
        self._times = [end for end, _ in steps]
        #: Expected ends in microseconds, without duplicates.
        self.ends: Sequence[int] = sorted(set(self._times))

    def changed_until(self, earlier: StartGround, started: Sequence[StartReservation]) -> int:
        """Return ``NEVER``: searching the sums again is cheap."""
        return NEVER

    def place(
        self, job: StartJob, instants: Sequence[Instant], reservations: Sequence[StartReservation]
    ) -> StartPlacement | None:
        """Return an empty placement if the sums suffice at every instant."""
        holds = all(self.may_hold(job, instant, reservations) for instant in instants)
        return StartPlacement() if holds else None

    def may_hold(
        self, job: StartJob, instant: Instant, reservations: Sequence[StartReservation]
    ) -> bool:
        """Return whether the sums suffice at an instant."""
        count = bisect_right(self._times, instant.time) if instant.is_later else 0
        free = self._free[count].copy()
        for each in active(reservations, instant.time):
            self._charge(free, each.job.amounts)
        for column, amount in job.amounts:
            at = self._column_of.get(column)
            if amount and (at is None or free[at] < amount):
                return False
        return True

    def _charge(self, free: np.ndarray[tuple[int], np.dtype[np.int64]], amounts: Amounts) -> None:
        for column, amount in amounts:
            at = self._column_of.get(column)
            if at is not None:
                free[at] -= amount


class Timetable:
    """Reservations over time, and the search for the earliest start of a job."""

    def __init__(self, ground: StartGround, now: int) -> None:
        """Start without reservations; ``now`` is clock time in microseconds."""
        #: Clock time in microseconds.
        self.now = now
        #: Reservations, in the order in which they were made.
        self.reservations: list[StartReservation] = []
        #: The capacity over time.
        self.ground = ground
        self._instants: list[Instant] | None = None
        #: Starts of the reservations in order, without duplicates.
        self._starts: list[int] = []
        #: By form of job: the instants at which too little is free, and the number of reservations
        #: with which enough was free. Reservations are only added.
        self._short: dict[tuple[tuple[int, ...], int], set[Instant]] = {}
        self._enough: dict[tuple[tuple[int, ...], int], dict[Instant, int]] = {}
        #: (run time, earliest start) found for each form of job.
        self._found: dict[tuple[tuple[int, ...], int], list[tuple[int, int]]] = {}

    def occupy(self, job: StartJob) -> None:
        """Count a job that starts now and is not part of the ground yet."""
        placement = self.ground.place(job, [Instant(self.now, False)], self.reservations)
        if placement is not None:
            self.add(StartReservation(self.now, _end(self.now, job.duration), job, placement, True))

    def add(self, reservation: StartReservation) -> None:
        """Record a reservation."""
        self.reservations.append(reservation)
        if self._instants is not None and reservation.end < NEVER:
            end = Instant(reservation.end, True)
            place = bisect_left(self._instants, end)
            if self._instants[place : place + 1] != [end]:
                self._instants.insert(place, end)
        at = bisect_left(self._starts, reservation.start)
        if self._starts[at : at + 1] != [reservation.start]:
            self._starts.insert(at, reservation.start)

    def starts_now(self, job: StartJob) -> StartReservation | None:
        """Reservation of a job that may start now; ``None`` if it would delay another job."""
        if self._not_before(job) > self.now:
            return None
        found = self._at(job, Instant(self.now, False))
        if found is None:
            self._note(job, self.now + 1)
        return found

    def earliest(self, job: StartJob, *, after_an_end: bool = False) -> StartReservation | None:
        """The earliest reservation of a job; ``None`` if it never fits.

        Args:
            job: the job.
            after_an_end: true if the job has failed and needs the end of a running pod.
        """
        not_before = self._not_before(job)
        instants = [
            each
            for each in self._all_instants()
            if each.time >= not_before and (each.is_later or not after_an_end)
        ]
        found = self._first(job, instants)
        if found is None or not found.is_now:
            self._note(job, NEVER if found is None else found.start)
        return found

    def may_start_before(self, job: StartJob, end: int) -> bool:
        """Return whether amounts let a job start at an instant before a time.

        Rules may still refuse it.
        """
        for each in self._all_instants():
            if each.time >= end:
                return False
            if self._holds_from(each, job):
                return True
        return False

    def has_instant(self, time: int) -> bool:
        """Return whether capacity becomes free at a time."""
        instants = self._all_instants()
        at = bisect_left(instants, Instant(time, False))
        return at < len(instants) and instants[at].time == time

    def _not_before(self, job: StartJob) -> int:
        """Lower bound of the start: no earlier than equal jobs that run no longer.

        Reservations are only added, so the bound holds for the rest of the round.
        """
        known = self._found.get(job.form, ())
        return max((start for run, start in known if run <= job.duration), default=self.now)

    def _note(self, job: StartJob, start: int) -> None:
        known = [each for each in self._found.get(job.form, ()) if each[0] < job.duration]
        self._found[job.form] = [*known, (job.duration, start)]

    def _first(self, job: StartJob, instants: Sequence[Instant]) -> StartReservation | None:
        """The first instant at which a job fits.

        Each instant up to the last start of a reservation is tried. After that the capacity only
        grows, so the rest is a binary search.
        """
        last = max((each.start for each in self.reservations), default=-1)
        settled = bisect_right([each.time for each in instants], last)
        for instant in instants[:settled]:
            found = self._at(job, instant)
            if found is not None:
                return found
        low, high, best = settled, len(instants) - 1, None
        if low > high:
            return None
        best = self._at(job, instants[low])
        if best is not None:
            return best
        best = self._at(job, instants[high])
        if best is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            found = self._at(job, instants[middle])
            if found is None:
                low = middle
            else:
                high, best = middle, found
        return best

    def _at(self, job: StartJob, instant: Instant) -> StartReservation | None:
        """Reservation of a job from an instant on, if it fits during its whole run time."""
        if not self._holds_from(instant, job):
            return None
        instants, end = self._dips(instant, job), _end(instant.time, job.duration)
        placement = self.ground.place(job, instants, self.reservations)
        if placement is None:
            return None
        return StartReservation(instant.time, end, job, placement, not instant.is_later)

    def _holds_from(self, instant: Instant, job: StartJob) -> bool:
        """Return whether enough is free from an instant on, during the run time of a job."""
        return self._may_hold(job, [instant]) and self._may_hold(job, self._dips(instant, job))

    def _dips(self, instant: Instant, job: StartJob) -> list[Instant]:
        """The start of a job, and every later start of a reservation before its end."""
        end, starts = _end(instant.time, job.duration), self._starts
        first = (
            bisect_right(starts, instant.time)
            if instant.is_later
            else bisect_left(starts, self.now)
        )
        return [
            instant,
            *(Instant(time, True) for time in starts[first : bisect_left(starts, end)]),
        ]

    def _may_hold(self, job: StartJob, instants: Sequence[Instant]) -> bool:
        """Return whether enough is free at each instant alone.

        A shortage is cached for the form of the job.
        """
        short = self._short.setdefault(job.form, set())
        if not short.isdisjoint(instants):
            return False
        enough, count = self._enough.setdefault(job.form, {}), len(self.reservations)
        for each in instants:
            if enough.get(each) == count:
                continue
            if not self.ground.may_hold(job, each, self.reservations):
                short.add(each)
                return False
            enough[each] = count
        return True

    def _all_instants(self) -> list[Instant]:
        """The present, and every later time at which capacity becomes free."""
        if self._instants is None:
            times = {*self.ground.ends, *(r.end for r in self.reservations if r.end < NEVER)}
            later = [Instant(time, True) for time in sorted(times)]
            self._instants = [Instant(self.now, False), *later]
        return self._instants


def expected_end(end: int, now: int) -> int:
    """Time at which a running pod is expected to end, given the end by its estimate.

    A pod that exceeds its estimate is expected to exceed it twice as long, and the expectation
    holds until the pod outlives it too: the excess is rounded up to a power of two of
    microseconds. The plan then changes a few times, not in every round.
    """
    return end if end >= now else end + (1 << (now - end).bit_length())


def _end(start: int, duration: int) -> int:
    """End of a job; a job without length uses its capacity for a microsecond."""
    return NEVER if duration >= NEVER else start + max(duration, 1)
