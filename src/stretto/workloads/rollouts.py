"""Conditions of a Deployment: minimum availability, and progress of the update.

As in the Deployment controller of Kubernetes.
"""

from dataclasses import dataclass
from typing import Any, Final

from stretto.base.clock import parse_timestamp
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.conditions import condition_of, transition_time

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
_COMPLETE: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"
COUNTS: Final = ("updatedReplicas", "readyReplicas", "availableReplicas")
"""Numbers of a status that grow during an update."""
FAILURE: Final = "ReplicaFailure"
"""Type of the condition about refused pods, of ReplicaSets and Deployments."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """Inputs of the conditions of a Deployment."""

    #: The Deployment with its stored status.
    item: StoredObject
    #: Numbers of its new status.
    counts: Fields
    #: Name of the ReplicaSet of its template.
    current: str
    #: Minimum number of available pods.
    least: int
    #: Condition of a ReplicaSet about a refused pod; ``None``: no pod is refused.
    failure: Fields | None
    #: RFC 3339 time.
    now: str


def conditions(rollout: Rollout) -> list[Fields]:
    """The conditions of the new status; a condition that does not change keeps its times."""
    found: list[Fields] = list(rollout.item.status.get("conditions") or ())
    found = _with(found, _availability(rollout), rollout.now)
    for change in (_pause, _progress):
        changed = change(rollout, condition_of(found, PROGRESSING))
        if changed is not None:
            found = _with(found, changed, rollout.now)
    if rollout.failure is None:
        return [each for each in found if each.get("type") != FAILURE]
    since = str(rollout.failure.get("lastTransitionTime") or rollout.now)
    return _with(found, rollout.failure, since)


def with_created(item: StoredObject, name: str, now: str) -> list[Fields]:
    """The conditions of a Deployment after the creation of a ReplicaSet.

    Args:
        item: the Deployment.
        name: name of the ReplicaSet.
        now: RFC 3339 time.
    """
    found: list[Fields] = list(item.status.get("conditions") or ())
    if item.spec.get("progressDeadlineSeconds") is None:
        return found
    text = f'Created new replica set "{name}"'
    return _with(found, _condition(PROGRESSING, "True", "NewReplicaSetCreated", text), now)


def _availability(rollout: Rollout) -> Fields:
    if int(rollout.counts.get("availableReplicas") or 0) >= rollout.least:
        return _condition(
            AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
        )
    text = "Deployment does not have minimum availability."
    return _condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text)


def _pause(rollout: Rollout, before: Fields | None) -> Fields | None:
    """The condition of a pause or of its end; ``None`` if it does not change.

    It sets the time from which the deadline counts, so that a pause does not time out.
    """
    reason = "" if before is None else before.get("reason")
    spec = rollout.item.spec
    if spec.get("progressDeadlineSeconds") is None or reason == _TIMED_OUT:
        return None
    if spec.get("paused") and reason != _PAUSED:
        return _condition(PROGRESSING, "Unknown", _PAUSED, "Deployment is paused")
    if not spec.get("paused") and reason == _PAUSED:
        return _condition(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed")
    return None


def _progress(rollout: Rollout, before: Fields | None) -> Fields | None:
    """The condition of the update; ``None`` if it does not change."""
    counts, spec, old = rollout.counts, rollout.item.spec, rollout.item.status
    seconds = spec.get("progressDeadlineSeconds")
    if seconds is None or spec.get("paused"):
        return None
    wanted = int(spec.get("replicas", 1))
    settled = counts.get("replicas") == counts.get("updatedReplicas")
    if settled and before is not None and before.get("reason") == _COMPLETE:
        return None
    name = rollout.current
    sizes = [int(counts.get(key) or 0) for key in ("updatedReplicas", "replicas")]
    if [*sizes, int(counts.get("availableReplicas") or 0)] == [wanted] * 3:
        text = f'ReplicaSet "{name}" has successfully progressed.'
        return _condition(PROGRESSING, "True", _COMPLETE, text)
    grown = any(int(counts.get(key) or 0) > int(old.get(key) or 0) for key in COUNTS)
    shrunk = _old_pods(counts) < _old_pods(old)
    if grown or shrunk or before is None:
        text = f'ReplicaSet "{name}" is progressing.'
        return _condition(PROGRESSING, "True", "ReplicaSetUpdated", text)
    updated = before.get("lastUpdateTime")
    if updated and parse_timestamp(rollout.now) - parse_timestamp(updated) > int(seconds):
        text = f'ReplicaSet "{name}" has timed out progressing.'
        return _condition(PROGRESSING, "False", _TIMED_OUT, text)
    return None


def _old_pods(status: Any) -> int:
    return int(status.get("replicas") or 0) - int(status.get("updatedReplicas") or 0)


def _condition(kind: str, status: str, reason: str, message: str) -> Fields:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _with(found: list[Fields], new: Fields, now: str) -> list[Fields]:
    """Replace one condition, unless its status and its reason are the same."""
    before = condition_of(found, new["type"])
    same = before is not None and all(before.get(key) == new[key] for key in ("status", "reason"))
    if same and new["reason"] != "ReplicaSetUpdated":
        return found
    since = transition_time(before, new["status"], now)
    times = {"lastUpdateTime": now, "lastTransitionTime": since}
    return [each for each in found if each.get("type") != new["type"]] + [{**new, **times}]
