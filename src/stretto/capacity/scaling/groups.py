"""Scaling groups: division of the replicas of one service among data centres.

Groups are filled in the order of their priority; the emergency pool is filled last and therefore
emptied first. A group gets no replicas that a trial of the scheduler cannot place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronsim import CronSim, CronSimError

from stretto.api.types.capacity.scaling import (
    ScalingBound,
    ScalingGroupRole,
    ScalingGroupSpec,
    ScalingSpec,
)
from stretto.base.errors import InputError


@dataclass(frozen=True)
class GroupPlan:
    """The division of the replicas of a service."""

    #: Replicas by group.
    replicas: Mapping[str, int]
    #: Number of replicas that no group can run.
    unmet: int


def divide(spec: ScalingSpec, now: datetime, fits: Mapping[str, int] | None = None) -> GroupPlan:
    """Divide the replicas of a service: the minimum of each group first, then group by group.

    Args:
        spec: the service; replicas beyond its quota are not divided.
        now: time, for limits by cron.
        fits: replicas that a trial of the scheduler places, by group; a missing group is unlimited.

    Raises:
        InputError: the limits of a group are invalid.
    """
    ordered = in_order(spec.groups)
    limits = {each.name: limits_at(each, now) for each in ordered}
    for name, most in (fits or {}).items():
        if name in limits:
            limits[name] = (min(limits[name][0], most), min(limits[name][1], most))
    replicas = {each.name: _fewest(*limits[each.name], each.step) for each in ordered}
    desired = spec.replicas if spec.quota is None else min(spec.replicas, spec.quota)
    left = desired - sum(replicas.values())
    for each in ordered:
        capacity = _whole(limits[each.name][1], each.step) - replicas[each.name]
        more = min(max(capacity, 0), _whole(max(left, 0), each.step, up=True))
        replicas[each.name] += more
        left -= more
    return GroupPlan(replicas, max(left, 0))


def held_back(spec: ScalingSpec, plan: GroupPlan, placed: Mapping[str, int]) -> dict[str, int]:
    """Replicas by group if no running replica is removed before the other replicas suffice.

    The last groups are reduced first, by the number of replicas that run in excess of the plan.

    Args:
        spec: the service.
        plan: the division of its replicas.
        placed: pods on nodes by group.
    """
    excess = max(sum(placed.values()) - sum(plan.replicas.values()), 0)
    found = dict(plan.replicas)
    for each in reversed(in_order(spec.groups)):
        over = max(placed.get(each.name, 0) - found[each.name], 0)
        ends = min(over, excess)
        excess -= ends
        found[each.name] += over - ends
    return found


def in_order(groups: Iterable[ScalingGroupSpec]) -> list[ScalingGroupSpec]:
    """Groups in the order in which they are filled."""
    return sorted(
        groups, key=lambda each: (each.role is ScalingGroupRole.EMERGENCY, each.priority, each.name)
    )


def limits_at(group: ScalingGroupSpec, now: datetime) -> tuple[int, int]:
    """Minimum and maximum number of replicas of a group at a time, in its time zone.

    Raises:
        InputError: limits are negative or crossed, the step is below 1, or a cron expression is
            invalid.
    """
    places = ((f"group {group.name}: bounds[{n}]", each) for n, each in enumerate(group.bounds))
    chosen = next((each for where, each in places if _applies(each, now, where)), group)
    if not 0 <= chosen.min <= chosen.max:
        found = f"{chosen.min} to {chosen.max}"
        raise InputError(f"group {group.name}: min and max", found, "0 <= min <= max")
    if group.step < 1:
        raise InputError(f"group {group.name}: step", group.step, "at least 1")
    return chosen.min, chosen.max


def _applies(bound: ScalingBound, now: datetime, where: str) -> bool:
    last = next(_ticks(bound.start, now + timedelta(seconds=1), f"{where}.start"), None)
    return last is not None and now - last < timedelta(seconds=bound.duration_seconds)


def _ticks(text: str, before: datetime, where: str) -> CronSim:
    """Ticks of a cron expression before a time, the latest first."""
    try:
        return CronSim(text, before, reverse=True)
    except CronSimError as error:
        expected = "a cron expression: minute, hour, day of month, month, day of week"
        raise InputError(where, text, expected, str(error).rstrip(".")) from error


def _fewest(least: int, most: int, step: int) -> int:
    """First multiple of the step that is at least the minimum, unless it exceeds the maximum."""
    return min(_whole(least, step, up=True), _whole(most, step))


def _whole(count: int, step: int, *, up: bool = False) -> int:
    """Round to a multiple of the step, down or up."""
    return (count + (step - 1 if up else 0)) // step * step
