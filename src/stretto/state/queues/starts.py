"""Jobs, reservations and instants of a timetable: when waiting units are expected to start."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from stretto.state.queries.pool import Amounts


class StartJob(NamedTuple):
    """The pods of one unit that start together."""

    #: Rows of the pods.
    rows: tuple[int, ...]
    #: Their classes.
    classes: tuple[int, ...]
    #: Number of pods without which the unit does not start.
    at_least: int
    #: Estimated run time in microseconds; ``NEVER`` if unknown.
    duration: int
    #: Sum of the requests of the pods.
    amounts: Amounts

    @property
    def form(self) -> tuple[tuple[int, ...], int]:
        """Equal for jobs that differ only in their run time."""
        return self.classes, self.at_least


class StartPlacement(NamedTuple):
    """Where the pods of a job start; empty where amounts alone decide."""

    #: Slot of each pod; -1 for a pod beyond the minimum that finds no node.
    slots: tuple[int, ...] = ()
    #: Device mask of each pod.
    devices: tuple[int, ...] = ()


class StartReservation(NamedTuple):
    """Capacity that a job holds from its expected start to its expected end."""

    #: Expected start in microseconds of the clock.
    start: int
    #: Expected end in microseconds; ``NEVER`` without an estimate.
    end: int
    #: The job.
    job: StartJob
    #: Where it runs.
    placement: StartPlacement
    #: Whether it can start now, on capacity that is free now.
    is_now: bool = False


class Instant(NamedTuple):
    """One instant at which the free capacity is known."""

    #: Time in microseconds of the clock.
    time: int
    #: Whether pods that are expected to end by then have ended; false only for the present.
    is_later: bool


class StartGround(Protocol):
    """The capacity on which jobs start, over time."""

    #: Expected ends of running pods in microseconds, ascending, each once, none in the past.
    ends: Sequence[int]

    def changed_until(self, earlier: "StartGround", started: Sequence[StartReservation]) -> int:
        """The time from which on this ground is what an earlier one expected.

        Args:
            earlier: the ground of an earlier round.
            started: the reservations of that round that begin by now.

        Returns:
            Microseconds; the present where nothing differs, ``NEVER`` where anything may differ.
        """
        ...

    def may_hold(
        self, job: StartJob, instant: Instant, reservations: Sequence[StartReservation]
    ) -> bool:
        """A quick necessary condition for ``place`` at an instant; more reservations never help."""
        ...

    def place(
        self, job: StartJob, instants: Sequence[Instant], reservations: Sequence[StartReservation]
    ) -> StartPlacement | None:
        """Where a job fits at all of these instants; ``None`` if it does not.

        Args:
            job: the job.
            instants: its start, and every later start of a reservation before its end.
            reservations: reservations; each counts from its start to its end.
        """
        ...


def active(reservations: Sequence[StartReservation], time: int) -> list[StartReservation]:
    """The reservations that hold capacity at a time."""
    return [each for each in reservations if each.start <= time < each.end]
