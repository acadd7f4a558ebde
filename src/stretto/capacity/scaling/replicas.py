"""Desired replicas from one metric.

Source: Kubernetes' ``podautoscaler/replica_calculator.go``.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from stretto.base.errors import InputError

INT32_MAX: Final = 2**31 - 1


class Overflow(Enum):
    """The result for a number of replicas above 32 bits."""

    #: The largest number of replicas.
    CAP = "cap"
    #: The smallest number of 32 bits, as a conversion of floats does on amd64.
    WRAP = "wrap"


@dataclass(frozen=True)
class Tolerance:
    """Deviations from the target that do not change the replicas, as fractions.

    Both ends are inclusive.
    """

    #: Deviation above the target.
    up: float = 0.1
    #: Deviation below the target.
    down: float = 0.1
    #: The result for too many replicas.
    overflow: Overflow = Overflow.CAP

    def holds(self, ratio: float) -> bool:
        """Return whether ``ratio`` of metric and target is within the tolerance."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up

    def whole(self, replicas: float) -> int:
        """``replicas`` rounded up to a 32-bit integer."""
        if self.overflow is Overflow.WRAP and not abs(replicas) <= INT32_MAX:
            return -INT32_MAX - 1
        return capped(replicas)


@dataclass(frozen=True)
class MetricPod:
    """The values of a pod of the workload for the calculation."""

    #: Name.
    name: str
    #: Deleted and failed pods do not count at all.
    ignored: bool = False
    #: True for deleted and failed pods, which do not count at all.
    unready: bool = False
    #: True for running and ready pods.
    running_ready: bool = False
    #: Request of the resource, in milli-units; ``None`` if a container has none.
    request: int | None = None


@dataclass(frozen=True)
class Proposal:
    """Replicas that one metric requires."""

    #: Replicas.
    replicas: int
    #: Use per pod, or the value of the metric, in milli-units.
    usage: int
    #: Use in percent of the requests; ``None`` for metrics without requests.
    utilization: int | None = None


@dataclass(frozen=True)
class Grouped:
    """Pods grouped by the state of their metrics."""

    #: Pods that count with their value.
    ready: int
    #: Pods whose value does not count.
    unready: tuple[str, ...]
    #: Pods without a value.
    missing: tuple[str, ...]
    #: Values that count, of pods and of unknown names.
    values: Mapping[str, int]


def grouped(pods: Iterable[MetricPod], values: Mapping[str, int]) -> Grouped:
    """Group pods by the state of their metrics.

    Raises:
        InputError: there are no pods, or no value remains.
    """
    ready, unready, missing, left, count = 0, [], [], dict(values), 0
    for pod in pods:
        count += 1
        if pod.ignored:
            left.pop(pod.name, None)
        elif pod.unready:
            unready.append(pod.name)
            left.pop(pod.name, None)
        elif pod.name not in values:
            missing.append(pod.name)
        else:
            ready += 1
    if not count:
        raise InputError("pods", 0, "at least one pod that the selector selects")
    if not left:
        raise InputError("metrics", 0, "a value of a pod that is ready")
    return Grouped(ready, tuple(unready), tuple(missing), left)


def by_utilization(
    pods: list[MetricPod],
    values: Mapping[str, int],
    target: int,
    current: int,
    tolerance: Tolerance,
) -> Proposal:
    """Replicas that bring the use of requests to ``target`` percent.

    Raises:
        InputError: no pods, no values, a pod without a request, or values of unknown pods only.
    """
    groups = grouped(pods, values)
    requests = {}
    for pod in pods:
        if pod.request is None:
            raise InputError(f"pod {pod.name}", None, "a request in every container")
        requests[pod.name] = pod.request

    def ratio(amounts: Mapping[str, int]) -> tuple[float, int, int]:
        known = [name for name in amounts if name in requests]
        requested = sum(requests[name] for name in known)
        if not requested:
            raise InputError("metrics", len(amounts), "values of pods with requests")
        used = sum(amounts[name] for name in known)
        percent = used * 100 // requested
        return percent / target, percent, used // len(known)

    share = max(100, target)
    stand_in = {name: requests[name] * share // 100 for name in groups.missing}
    _, percent, usage = ratio(groups.values)
    metric = _Metric(groups, lambda each: ratio(each)[0], stand_in)
    replicas = _adjusted(metric, current, tolerance)
    return Proposal(replicas, usage, percent)


def by_average(
    pods: list[MetricPod],
    values: Mapping[str, int],
    target: int,
    current: int,
    tolerance: Tolerance,
) -> Proposal:
    """Replicas that bring the average value of a pod to ``target`` milli-units.

    Raises:
        InputError: no pods or no values.
    """
    groups = grouped(pods, values)

    def ratio(amounts: Mapping[str, int]) -> float:
        return _average(amounts) / target

    metric = _Metric(groups, ratio, dict.fromkeys(groups.missing, target))
    return Proposal(_adjusted(metric, current, tolerance), _average(groups.values))


def capped(replicas: float) -> int:
    """Round ``replicas`` up, or to the nearest number of 32 bits."""
    return math.ceil(min(max(replicas, -INT32_MAX - 1), INT32_MAX))


@dataclass(frozen=True)
class _Metric:
    """A metric over pods."""

    #: Pods grouped by the state of their values.
    groups: Grouped
    #: Maps values to the ratio of use and target.
    ratio_of: Callable[[Mapping[str, int]], float]
    #: Values of pods without a value if replicas are reduced.
    stand_in: Mapping[str, int]


def _adjusted(metric: _Metric, current: int, tolerance: Tolerance) -> int:
    """Replicas after pods without a value count against the direction of the change."""
    groups = metric.groups
    ratio = metric.ratio_of(groups.values)
    up_with_unready = bool(groups.unready) and ratio > 1.0
    if not up_with_unready and not groups.missing:
        return current if tolerance.holds(ratio) else tolerance.whole(ratio * groups.ready)
    values = dict(groups.values)
    if ratio < 1.0:
        values.update(metric.stand_in)
    elif ratio > 1.0:
        values.update(dict.fromkeys(groups.missing, 0))
    if up_with_unready:
        values.update(dict.fromkeys(groups.unready, 0))
    changed = metric.ratio_of(values)
    if tolerance.holds(changed) or (ratio - 1.0) * (changed - 1.0) < 0:
        return current
    replicas = tolerance.whole(changed * len(values))
    against = (changed < 1.0 and replicas > current) or (changed > 1.0 and replicas < current)
    return current if against else replicas


def _average(values: Mapping[str, int]) -> int:
    """The mean, truncated."""
    total = sum(values.values())
    return abs(total) // len(values) * (1 if total >= 0 else -1)
