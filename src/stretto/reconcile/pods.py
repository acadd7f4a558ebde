"""Scheduling information in the status of a pod."""

from typing import Final

from stretto.base.clock import parse_timestamp
from stretto.reconcile.cache import StoredObject

_UNSCHEDULABLE: Final = ("PodScheduled", "False", "Unschedulable")


def unschedulable_for(pod: StoredObject, now: float) -> float | None:
    """Return the seconds since the pod became unschedulable; ``None`` for other pods.

    ``now`` is in seconds since the epoch.
    """
    for each in pod.status.get("conditions") or ():
        if (each.get("type"), each.get("status"), each.get("reason")) == _UNSCHEDULABLE:
            return now - parse_timestamp(each.get("lastTransitionTime") or pod.record.created)
    return None
