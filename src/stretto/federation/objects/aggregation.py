"""From the status of an object in its members to the status of its source, by kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stretto.reconcile.cache import Fields, StoredObject

Aggregate = Callable[[Sequence[StoredObject]], Fields]
"""From the objects of all members, by name of the cluster, to the status of the source."""


def aggregate_of(kind: str) -> Aggregate | None:
    """The rule of a kind; ``None`` for kinds whose status is not aggregated."""
    return _RULES.get(kind)


def _sums(*fields: str) -> Aggregate:
    """Adds numbers; those that are 0 everywhere are left out."""

    def rule(objects: Sequence[StoredObject]) -> Fields:
        totals = {name: sum(int(x.status.get(name) or 0) for x in objects) for name in fields}
        return {name: total or None for name, total in totals.items()}

    return rule


def _stateful(objects: Sequence[StoredObject]) -> Fields:
    """The status of a StatefulSet that runs in one cluster; sums where it runs in several."""
    if len(objects) == 1:
        return dict(objects[0].status)
    return _sums("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")(objects)


def _pod(objects: Sequence[StoredObject]) -> Fields:
    """The worst phase of all with the clusters where it is, and the containers of each cluster."""
    by_phase: dict[str, list[str]] = {}
    for each in objects:
        by_phase.setdefault(str(each.status.get("phase")), []).append(each.source)
    worst = next((phase for phase in _PHASES if phase in by_phase), None)
    if worst is None:
        return {"phase": None}
    clusters = ",".join(sorted(by_phase[worst]))
    starts = [each.status["startTime"] for each in objects if each.status.get("startTime")]
    return {
        "phase": worst,
        "message": f"Pod {worst.lower()} in clusters [{clusters}]",
        "startTime": min(starts, default=None),
        "containerStatuses": [
            {**status, "name": f"{status['name']} ({each.source})"}
            for each in objects
            for status in each.status.get("containerStatuses") or ()
        ]
        or None,
        "qosClass": next((x for each in objects if (x := each.status.get("qosClass"))), None),
    }


_PHASES: Final = ("Failed", "Pending", "Running", "Succeeded")
"""Phases of pods, the worst first."""


def _job(objects: Sequence[StoredObject]) -> Fields:
    """Sums, the first start, and one condition where all have ended."""
    status = _sums("active", "succeeded", "failed")(objects)
    starts = [each.status["startTime"] for each in objects if each.status.get("startTime")]
    status["startTime"] = min(starts, default=None)
    return status


_RULES: Final[Mapping[str, Aggregate]] = {
    "Deployment": _sums(
        "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"
    ),
    "StatefulSet": _stateful,
    "DaemonSet": _sums(
        "currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberAvailable",
        "updatedNumberScheduled", "numberUnavailable", "numberMisscheduled",
    ),
    "Job": _job,
    "Pod": _pod,
}  # fmt: skip
"""Rules by kind."""


def is_observed(present: StoredObject) -> bool:
    """Whether the status of an object describes its present spec."""
    observed: Any = present.status.get("observedGeneration")
    return observed is None or observed == present.metadata.get("generation", 1)
