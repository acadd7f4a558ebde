"""Scaling groups: how the replicas of one service are divided among data centres.

Groups fill in the order of their priority; the emergency pool fills last and so empties first. What
a trial of the scheduler cannot place is not promised to a group.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from cronsim import CronSim, CronSimError

from stretto.base.errors import InputError


class GroupRole(Enum):
    """When a group is filled."""

    #: By its priority.
    NORMAL = "normal"
    #: After all others.
    EMERGENCY = "emergency"


@dataclass(frozen=True)
class CronBound:
    """Other limits for a time after each tick of a cron expression."""

    #: Five fields: minute, hour, day of month, month, day of week.
    start: str
    #: Seconds for which the limits apply.
    duration_s: float
    #: Fewest replicas.
    least: int
    #: Most replicas.
    most: int

    def applies(self, now: datetime) -> bool:
        """Whether the limits apply at a time, in its time zone.

        Raises:
            InputError: the cron expression is invalid.
        """
        try:
            ticks = CronSim(self.start, now + timedelta(seconds=1), reverse=True)
        except CronSimError as error:
            raise InputError("start", self.start, f"a cron expression: {error}") from error
        last = next(ticks, None)
        return last is not None and now - last < timedelta(seconds=self.duration_s)


@dataclass(frozen=True)
class ScalingGroup:
    """The replicas of a service in one data centre."""

    #: Name.
    name: str
    #: Fewest replicas.
    least: int
    #: Most replicas.
    most: int
    #: Groups with a lower number fill first; equal ones by name.
    priority: int = 0
    #: When it is filled.
    role: GroupRole = GroupRole.NORMAL
    #: Replicas that start and end together, such as the members of a gang.
    step: int = 1
    #: Limits at some times; of several that apply, the first one counts.
    bounds: tuple[CronBound, ...] = ()

    def limits(self, now: datetime) -> tuple[int, int]:
        """Fewest and most replicas at a time.

        Raises:
            InputError: limits are negative or crossed, the step is below 1, or a cron expression is
                invalid.
        """
        chosen = next((each for each in self.bounds if each.applies(now)), self)
        least, most = chosen.least, chosen.most
        if not 0 <= least <= most:
            raise InputError(f"group {self.name}", f"{least} to {most}", "0 <= least <= most")
        if self.step < 1:
            raise InputError(f"group {self.name}: step", self.step, "at least 1")
        return least, most


@dataclass(frozen=True)
class GroupPlan:
    """The division of the replicas of a service."""

    #: Replicas by group.
    replicas: Mapping[str, int]
    #: Replicas that no group can take.
    unmet: int


def divide(
    groups: Iterable[ScalingGroup],
    desired: int,
    now: datetime,
    fits: Mapping[str, int] | None = None,
) -> GroupPlan:
    """Divide replicas: the fewest of each group first, then group by group.

    Args:
        groups: groups of the service.
        desired: replicas that the metrics propose, at most the quota of the service.
        now: time, for limits by cron.
        fits: replicas that a trial of the scheduler places, by group; a missing group is unlimited.

    Raises:
        InputError: the limits of a group are invalid.
    """
    ordered = sorted(groups, key=lambda g: (g.role is GroupRole.EMERGENCY, g.priority, g.name))
    limits = {each.name: each.limits(now) for each in ordered}
    if fits is not None:
        limits = {
            name: (min(least, fits.get(name, least)), min(most, fits.get(name, most)))
            for name, (least, most) in limits.items()
        }
    replicas = {each.name: _whole(limits[each.name][0], each.step, up=True) for each in ordered}
    left = desired - sum(replicas.values())
    for each in ordered:
        capacity = _whole(limits[each.name][1], each.step) - replicas[each.name]
        more = min(max(capacity, 0), _whole(max(left, 0), each.step, up=True))
        replicas[each.name] += more
        left -= more
    return GroupPlan(replicas, max(left, 0))


def _whole(count: int, step: int, *, up: bool = False) -> int:
    """A multiple of the step: the next one below, or above."""
    return (count + (step - 1 if up else 0)) // step * step
