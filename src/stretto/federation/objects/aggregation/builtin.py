"""Built-in aggregation of the status of members' objects into that of their source, by kind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stretto.reconcile.cache import Fields, StoredObject

Aggregate = Callable[[Sequence[StoredObject]], Fields]
"""Function from the objects of all members, by cluster name, to the status of the source."""


def aggregate_of(kind: str) -> Aggregate | None:
    """The rule of a kind; ``None`` for kinds whose status is not aggregated."""
    return _RULES.get(kind)


def _sums(*fields: str) -> Aggregate:
    """A rule that adds numbers; numbers that are 0 in all clusters are omitted."""

    def rule(objects: Sequence[StoredObject]) -> Fields:
        totals = {name: sum(int(x.status.get(name) or 0) for x in objects) for name in fields}
        return {name: total or None for name, total in totals.items()}

    return rule


def _stateful(objects: Sequence[StoredObject]) -> Fields:
    """The status of a StatefulSet in one cluster, or the sums over several clusters."""
    if len(objects) == 1:
        return dict(objects[0].status)
    return _sums("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")(objects)


def _pod(objects: Sequence[StoredObject]) -> Fields:
    """The worst phase of all members with its clusters, and the containers of each cluster."""
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
    """Sums, the first start, and after all have ended, the last end with its conditions."""
    status = _sums("active", "succeeded", "failed")(objects)
    starts = [each.status["startTime"] for each in objects if each.status.get("startTime")]
    status["startTime"] = min(starts, default=None)
    failed = [each.source for each in objects if _has(each, "Failed")]
    complete = [each.source for each in objects if _has(each, "Complete")]
    if len(failed) + len(complete) < len(objects):
        return status
    ends = [x["lastTransitionTime"] for each in objects for x in _ends(each)]
    at = max(ends, default=None)
    if failed:
        text = f"Job failed in clusters [{','.join(sorted(failed))}]"
        status["conditions"] = _conditions(("FailureTarget", "Failed"), at, text)
    else:
        text = f"Job complete in clusters [{','.join(sorted(complete))}]"
        status["conditions"] = _conditions(("SuccessCriteriaMet", "Complete"), at, text)
        status["completionTime"] = at
    return status


def _ends(job: StoredObject) -> list[Fields]:
    """The conditions that mark a Job as finished."""
    conditions = job.status.get("conditions") or ()
    ends = ("Failed", "Complete")
    return [each for each in conditions if each["type"] in ends and each["status"] == "True"]


def _has(job: StoredObject, type_: str) -> bool:
    return any(each["type"] == type_ for each in _ends(job))


def _conditions(types: Sequence[str], at: str | None, message: str) -> list[Fields]:
    """Conditions with the same transition time, in the order that API servers require."""
    times = {"lastTransitionTime": at, "lastProbeTime": at} if at else {}
    return [{"type": each, "status": "True", "message": message, **times} for each in types]


def _cron_job(objects: Sequence[StoredObject]) -> Fields:
    """The active Jobs of all clusters, and the last times."""
    status: Fields = {
        "active": [x for each in objects for x in each.status.get("active") or ()] or None
    }
    for field in ("lastScheduleTime", "lastSuccessfulTime"):
        times = [each.status[field] for each in objects if each.status.get(field)]
        status[field] = max(times, default=None)
    return status


def _load_balancer(objects: Sequence[StoredObject]) -> Fields:
    """The addresses of all clusters."""
    addresses: list[Any] = []
    for each in objects:
        for address in (each.status.get("loadBalancer") or {}).get("ingress") or ():
            if address not in addresses:
                addresses.append(address)
    return {"loadBalancer": {"ingress": addresses}} if addresses else {}


def _claim(objects: Sequence[StoredObject]) -> Fields:
    """The worst phase of all clusters."""
    phases = {each.status.get("phase") for each in objects}
    worst = next((phase for phase in ("Lost", "Pending", "Bound") if phase in phases), None)
    return {"phase": worst} if worst else {}


_RULES: Final[Mapping[str, Aggregate]] = {
    "Deployment": _sums(
        "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"
    ),
    "StatefulSet": _stateful,
    "DaemonSet": _sums(
        "currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberAvailable",
        "updatedNumberScheduled", "numberUnavailable", "numberMisscheduled",
    ),
    "ReplicaSet": _sums("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "Job": _job,
    "CronJob": _cron_job,
    "Service": _load_balancer,
    "Ingress": _load_balancer,
    "PersistentVolumeClaim": _claim,
    "HorizontalPodAutoscaler": _sums("currentReplicas", "desiredReplicas"),
    "PodDisruptionBudget": _sums(
        "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"
    ),
    "Pod": _pod,
}  # fmt: skip
"""Rules by kind."""


def has_rule(kind: str) -> bool:
    """True if there is a rule for the status of a kind."""
    return kind in _RULES


def is_observed(present: StoredObject) -> bool:
    """True if the status of an object describes its present spec."""
    observed: Any = present.status.get("observedGeneration")
    return observed is None or observed == present.metadata.get("generation", 1)
