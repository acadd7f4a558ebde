"""Jobs, reservations and instants of a timetable of expected starts of waiting units."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from stretto.state.queries.pool import Amounts


class StartJob(NamedTuple):
    """The pods of one unit that start together."""

    #: Rows of the pods.
    rows: tuple[int, ...]
    #: Classes of the pods.
    classes: tuple[int, ...]
    #: Number of pods without which the unit does not start.
    at_least: int
    #: Estimated run time in microseconds; ``NEVER`` if unknown.
    duration: int
    #: Sum of the requests of the pods.
    amounts: Amounts

    @property
    def form(self) -> tuple[tuple[int, ...], int]:
        """Key that is equal for jobs that differ only in their run time."""
        return self.classes, self.at_least


class StartPlacement(NamedTuple):
    """Nodes on which the pods of a job start; empty if amounts alone decide."""

    #: Slot of each pod; -1 for a pod beyond the minimum that finds no node.
    slots: tuple[int, ...] = ()
    #: Device mask of each pod.
    devices: tuple[int, ...] = ()


class StartReservation(NamedTuple):
    """Capacity of a job from its expected start to its expected end."""

    #: Expected start in microseconds of the clock.
    start: int
    #: Expected end in microseconds; ``NEVER`` without an estimate.
    end: int
    #: The job.
    job: StartJob
    #: Nodes of the job.
    placement: StartPlacement
    #: True if the job can start now, on capacity that is free now.
    is_now: bool = False


class Instant(NamedTuple):
    """An instant at which the free capacity is known."""

    #: Time in microseconds of the clock.
    time: int
    #: True if pods that are expected to end by then have ended; false only for the present.
    is_later: bool


class StartGround(Protocol):
    """The capacity over time, on which jobs start."""

    #: Expected ends of running pods in microseconds, ascending, without duplicates, none in the
    #: past.
    ends: Sequence[int]

    def changed_until(self, earlier: "StartGround", started: Sequence[StartReservation]) -> int:
        """Return the time after which this ground equals the expectation of an earlier one.

        Args:
            earlier: the ground of an earlier round.
            started: the reservations of that round that begin by now.

        Returns:
            Microseconds; the present if nothing differs, ``NEVER`` if anything may differ.
        """
        ...

    def may_hold(
        self, job: StartJob, instant: Instant, reservations: Sequence[StartReservation]
    ) -> bool:
        """Check a quick necessary condition for ``place`` at an instant.

        More reservations never help.
        """
        ...

    def place(
        self, job: StartJob, instants: Sequence[Instant], reservations: Sequence[StartReservation]
    ) -> StartPlacement | None:
        """Place a job so that it fits at all of these instants; ``None`` if it does not fit.

        Args:
            job: the job.
            instants: its start, and every later start of a reservation before its end.
            reservations: reservations; each counts from its start to its end.
        """
        ...


def active(reservations: Sequence[StartReservation], time: int) -> list[StartReservation]:
    """Reservations that use capacity at a time."""
    return [each for each in reservations if each.start <= time < each.end]
