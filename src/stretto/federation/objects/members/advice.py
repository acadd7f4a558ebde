"""Remedies for the states of an object in its clusters."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.federation.problems import PROPAGATED

INVALID_ROLLOUT: Final = "InvalidRollout"
"""Reason: the rollout policy of the object is malformed, so nothing is written."""
_ADVICE: Final = {
    Status.CLUSTER_NOT_READY: "the cluster is not ready: see its FederatedCluster",
    Status.CLUSTER_TERMINATING: "the cluster is leaving the federation",
    Status.ALREADY_EXISTS: (
        "an object of that name exists: delete it, or adopt it with the annotations "
        "kubeadmiral.io/conflict-resolution and kubeadmiral.io/clusters-to-adopt"
    ),
    Status.APPLY_OVERRIDES_FAILED: "its overrides do not apply: correct the override policy",
    Status.PENDING_CREATE: (
        "the cluster has not created it yet; if an object of that name is being deleted there, "
        "check its finalizers"
    ),
    Status.CREATION_FAILED: "the cluster refuses the object",
    Status.UPDATE_FAILED: "the cluster refuses the change",
    Status.DELETION_FAILED: "the cluster refuses the deletion",
    Status.LABEL_REMOVAL_FAILED: "the cluster refuses to release the object",
    Status.UPDATE_TIMED_OUT: "the cluster has not answered the update yet",
    Status.LABEL_REMOVAL_TIMED_OUT: "the cluster has not answered the release yet",
    Status.WAITING_FOR_REMOVAL: "the object is being deleted there",
}
"""Texts by state."""


def propagated(states: Mapping[str, Status], problems: Mapping[str, str]) -> dict[str, Any]:
    """The condition that reports if every cluster has the desired object.

    Args:
        states: state by cluster.
        problems: errors of clusters, by cluster.
    """
    if all(state is Status.OK for state in states.values()):
        return {"type": PROPAGATED, "status": "True"}
    message = _advice(states, problems)
    head = {"type": PROPAGATED, "status": "False"}
    return {**head, "reason": "CheckClusters", "message": message}


def held(error: str) -> dict[str, Any]:
    """The condition of an object whose rollout cannot be planned; members stay unchanged."""
    head = {"type": PROPAGATED, "status": "False"}
    return {**head, "reason": INVALID_ROLLOUT, "message": f"nothing is written: {error}"}


def _advice(states: Mapping[str, Status], problems: Mapping[str, str]) -> str:
    """A sentence for each cluster that does not have the desired object.

    Args:
        states: state by cluster.
        problems: errors of clusters, by cluster; these texts come first.
    """
    texts = (
        f"{name}: {problems.get(name) or _ADVICE.get(state, str(state))}"
        for name, state in sorted(states.items())
        if state is not Status.OK
    )
    return "; ".join(texts)
