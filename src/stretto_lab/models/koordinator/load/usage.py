"""Expected use of a node when a new pod starts: measured use and estimates of recent pods.

For a pod that the report does not contain yet, or that was scheduled shortly before it, the part of
its estimate that exceeds its measured use is added. Source: Koordinator's
``loadaware/load_aware.go`` and ``pod_assign_cache.go``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto_lab.models.koordinator.demand import Amounts

REPORT_INTERVAL: Final = 60.0
"""Default seconds between two reports of a node."""


@dataclass(frozen=True)
class ReportedUse:
    """Measured use of a pod."""

    #: Use by resource.
    usage: Amounts
    #: True if the report counts it as online.
    prod: bool = False


@dataclass(frozen=True)
class NodeReport:
    """A report of a node."""

    #: Use of the node; ``None`` if it could not be measured.
    usage: Amounts | None
    #: Use outside pods.
    system: Amounts = field(default_factory=dict)
    #: Percentiles: by duration in seconds, then by name, such as ``p95``.
    percentiles: Mapping[float, Mapping[str, Amounts]] = field(default_factory=dict)
    #: Pods by name.
    pods: Mapping[str, ReportedUse] = field(default_factory=dict)
    #: Seconds since the report was made.
    age: float = 0.0
    #: Seconds between two reports.
    interval: float = REPORT_INTERVAL


@dataclass(frozen=True)
class AssignedPod:
    """A pod that is bound to a node or reserved on it."""

    #: Name.
    name: str
    #: Expected use.
    estimate: Amounts
    #: True if the pod is online according to its own labels.
    prod: bool = False
    #: Seconds since it was scheduled; 0 for a pod that is being scheduled.
    scheduled_ago: float = 0.0
    #: Seconds since its containers were initialized; ``None`` if they are not.
    initialized_ago: float | None = None
    #: Seconds after scheduling for which the estimate counts.
    settle_scheduled: float = 0.0
    #: Seconds after initialization for which the estimate counts; 0 to count from scheduling.
    settle_initialized: float = 0.0

    def recent(self, report: NodeReport) -> bool:
        """Return whether the report cannot include its full use yet."""
        if self.scheduled_ago < report.age + report.interval:
            return True
        if self.settle_initialized > 0 and self.initialized_ago is not None:
            return self.initialized_ago - self.settle_initialized < report.age
        return self.scheduled_ago - self.settle_scheduled < report.age


@dataclass(frozen=True)
class Percentile:
    """A percentile over a duration, instead of the latest use."""

    #: Name such as ``p95``; empty for the latest use.
    name: str = ""
    #: Duration in seconds; 0 for the longest duration with that percentile.
    duration: float = 0.0


LATEST: Final = Percentile()
"""The latest use."""


def node_usage(
    report: NodeReport, assigned: Iterable[AssignedPod], percentile: Percentile = LATEST
) -> dict[str, int]:
    """Expected use of a node, without the new pod.

    If the percentile is missing for its duration, the sum of all estimates replaces it.
    """
    measured = _measured(report, percentile)
    whole = measured is None
    sums = dict(measured or {})
    for pod in assigned:
        seen = None if whole else report.pods.get(pod.name)
        if seen is None or not seen.usage:
            _add(sums, pod.estimate, {})
        elif pod.recent(report):
            _add(sums, pod.estimate, seen.usage)
    return sums


def prod_usage(
    report: NodeReport, assigned: Iterable[AssignedPod], *, system: bool
) -> dict[str, int]:
    """Expected use of the online pods of a node; with ``system``, also that of the system."""
    sums = dict(report.system) if system else {}
    for pod in assigned:
        if not pod.prod:
            continue
        seen = report.pods.get(pod.name)
        if seen is None or not seen.prod or not seen.usage:
            _add(sums, pod.estimate, {})
            continue
        _add(sums, seen.usage, {})
        if pod.recent(report):
            _add(sums, pod.estimate, seen.usage)
    return sums


def _measured(report: NodeReport, percentile: Percentile) -> Amounts | None:
    if not percentile.name:
        return report.usage
    if percentile.duration:
        return report.percentiles.get(percentile.duration, {}).get(percentile.name) or None
    for _, found in sorted(report.percentiles.items(), reverse=True):
        if found.get(percentile.name):
            return found[percentile.name]
    return report.usage


def _add(sums: dict[str, int], more: Amounts, less: Amounts) -> None:
    for name, amount in more.items():
        sums[name] = sums.get(name, 0) + max(amount - less.get(name, 0), 0)
