"""Objects of members that outlive their federated object or the membership of their cluster."""

from collections.abc import Mapping

from stretto.base.clock import parse_timestamp
from stretto.federation import names
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import condition_of


def setting(annotations: Mapping[str, str], internal: str, own: str) -> str:
    """The value that a controller has set, or else the value of the user."""
    return annotations.get(internal) or annotations.get(own) or ""


def is_orphaned(federated: StoredObject, present: StoredObject) -> bool:
    """True if the member's object outlives the federated one."""
    rule = setting(federated.annotations, names.NAMESPACE_ORPHAN, names.ORPHAN)
    return rule == "all" or (rule == "adopted" and names.ADOPTED in present.annotations)


def is_leftover(federated: StoredObject, present: StoredObject, cluster: StoredObject) -> bool:
    """True if a cluster kept an object when it left, and has joined again since.

    The object stays until something is placed in the cluster again, because a cluster that left
    without deleting its objects was meant to keep them.
    """
    shown = federated.status.get("clusters") or ()
    if any(each.get("cluster") == cluster.record.name for each in shown):
        return False
    joined = condition_of(cluster.status.get("conditions") or (), "Joined") or {}
    since = str(joined.get("lastTransitionTime") or "")
    return since != "" and parse_timestamp(present.record.created) < parse_timestamp(since)
