"""Texts of events about the pods that controllers create and delete."""

from stretto.reconcile.cache import StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.reconciler import RetryError


def created(pod: str) -> EventText:
    """The event about a created pod, given its name."""
    return EventText(EventLevel.NORMAL, "SuccessfulCreate", f"Created pod: {pod}")


def deleted(pod: str) -> EventText:
    """The event about a deleted pod, given its name."""
    return EventText(EventLevel.NORMAL, "SuccessfulDelete", f"Deleted pod: {pod}")


def ended(pod: StoredObject, node: str) -> EventText:
    """The event about an ended pod of a DaemonSet, which another pod replaces on its node."""
    where = f"{'/'.join(pod.name)} on node {node}"
    if pod.status.get("phase") == "Succeeded":
        text = f"Found succeeded daemon pod {where}, will try to delete it"
        return EventText(EventLevel.NORMAL, "SucceededDaemonPod", text)
    text = f"Found failed daemon pod {where}, will try to kill it"
    return EventText(EventLevel.WARNING, "FailedDaemonPod", text)


def create_failed(error: RetryError) -> EventText:
    """The event about a pod that the store refused."""
    return EventText(EventLevel.WARNING, "FailedCreate", f"Error creating: {error.cause}")
