"""Statuses of Queues."""

from collections.abc import Iterator, Mapping
from typing import Any

from stretto.api.wire.kinds import QUEUE, Kind
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.state.cluster.cluster import Cluster
from stretto.stores.store import Patch

WrittenStatuses = dict[str, dict[str, Any]]
"""Last written status, by uid."""
StatusNews = tuple[Kind, Patch, dict[str, Any]]
"""A kind, the patch of an object's status, and the status itself for later comparisons."""


def queue_patches(
    cluster: Cluster, dispatcher: Dispatcher, written: WrittenStatuses, stamp: str
) -> Iterator[StatusNews]:
    """Queues whose status has changed."""
    if not cluster.queues:
        return
    for facts in dispatcher.views.queues():
        queue = cluster.queues.get(facts.name)
        if queue is None:
            continue
        content = _queue_status(facts)
        if written.get(queue.metadata.uid) != content:
            sound = {"type": "Sound", "status": "False" if facts.faults else "True"}
            sound |= {"reason": "NotAsWritten" if facts.faults else "AsWritten"}
            sound |= {"message": "; ".join(facts.faults), "lastTransitionTime": stamp}
            patch = {"status": {**content, "conditions": [sound]}}
            yield QUEUE, Patch("", facts.name, patch, uid=queue.metadata.uid), content


def _queue_status(facts: QueueFacts) -> dict[str, Any]:
    """The status of a queue without its condition."""
    texts: Mapping[str, Any] = {
        "state": facts.state,
        "used": facts.used or None,
        "borrowed": facts.borrowed or None,
        "counted": facts.counted or None,
        "shareMilli": round(facts.share * 1000),
        "pending": facts.pending,
        "running": facts.running,
    }
    return {**texts, "conditions": list(facts.faults)}
