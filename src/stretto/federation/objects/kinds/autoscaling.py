"""Placement of autoscalers, in every member or on the host, and the conditions on their workload.

In the distributed mode every member scales its own copy of the workload. Each copy then sets its
own replicas, so the workload retains the replicas of members, is not divided, and follows the
autoscaler. In the centralized mode the host scales the source, and members receive no autoscaler.
"""

from collections.abc import Iterator
from typing import Final

from stretto.federation import names
from stretto.federation.objects.following import ObjectName
from stretto.federation.objects.members.wanted import keeps_replicas
from stretto.federation.objects.paths import field_at
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

CENTRALIZED: Final = "centralized"
"""Mode of an autoscaler that runs on the host."""
DISTRIBUTED: Final = "distributed"
"""Mode of an autoscaler that runs in every member; the default."""


def is_centralized(federated: StoredObject) -> bool:
    """True if an autoscaler runs on the host."""
    labels: Fields = federated.spec["template"]["metadata"].get("labels") or {}
    return labels.get(names.HPA_MODE) == CENTRALIZED


def mode_problem(template: Fields) -> str:
    """Message about an unknown mode in the labels of a template; empty without a problem."""
    mode = (template["metadata"].get("labels") or {}).get(names.HPA_MODE, DISTRIBUTED)
    if mode in (CENTRALIZED, DISTRIBUTED):
        return ""
    expected = f"expected {CENTRALIZED} or {DISTRIBUTED}; {DISTRIBUTED} applies"
    return f"the label {names.HPA_MODE} is {mode!r}, {expected}: correct it"


def target_of(federated: StoredObject, type_: FederatedType) -> ObjectName | None:
    """The workload that an autoscaler scales; ``None`` for other kinds and malformed objects."""
    found = field_at(federated.spec["template"], type_.scale_target) if type_.scale_target else None
    if not isinstance(found, dict) or not found.get("kind") or not found.get("name"):
        return None
    group = str(found.get("apiVersion", "")).rpartition("/")[0]
    return ObjectName(group, str(found["kind"]), str(found["name"]))


def obstacles(
    autoscaler: StoredObject, workload: StoredObject | None, *, divided: bool
) -> Iterator[str]:
    """Reasons why an autoscaler cannot run in members, each with a remedy.

    Args:
        autoscaler: the federated autoscaler.
        workload: the federated workload; ``None`` if it does not exist.
        divided: true if the replicas of the workload are divided.
    """
    if workload is None:
        yield "its workload is not federated: create it, or correct scaleTargetRef"
        return
    if not keeps_replicas(workload):
        yield f"members do not set its replicas: annotate the workload {names.RETAIN_REPLICAS}"
    template = workload.spec["template"]
    leader = template["kind"], template["metadata"]["name"]
    follows = autoscaler.spec.get("follows") or ()
    if leader not in [(each.get("kind"), each.get("name")) for each in follows]:
        yield f"it does not follow the workload: name it in the annotation {names.FOLLOWER_LIST}"
    if divided:
        yield "the replicas of the workload are divided: use the scheduling mode Duplicate"
