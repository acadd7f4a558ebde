"""The queue of a pending unit: its share, the queues that borrow its guarantee, its sub-cluster.

Share and borrowers are computed from the usage of all queues at one instant
(``control.dispatcher.usage_report``), from a running plane or from the record of a run.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import QUEUE
from stretto.api.wire.quantity import amount
from stretto.base.errors import suggestion
from stretto.base.nearest import nearest
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.control.scheduler.sub_clusters import sub_clusters_of
from stretto.explain.why.scene import Scene
from stretto.state.work.units import DEFAULT_QUEUE
from stretto.stores.store import Record

HOLDERS: Final = 3
"""Number of borrowing queues that are named."""


class BorrowingQueue(msgspec.Struct, frozen=True):
    """A queue that uses more than its guarantee."""

    #: Name of the queue.
    queue: str
    #: Borrowed amounts by resource.
    borrowed: dict[str, str]
    #: Largest share of the queue of any resource of the cluster, 0 to 1.
    share: float


class ShareFacts(msgspec.Struct, frozen=True):
    """State of a unit's queue."""

    #: Queue and its ancestors, outermost first.
    path: tuple[str, ...]
    #: Used amounts by resource.
    used: dict[str, str]
    #: Guaranteed amounts by resource.
    guarantee: dict[str, str]
    #: Limits by resource.
    limit: dict[str, str]
    #: Resources with usage below the guarantee.
    owed: tuple[str, ...]
    #: Borrowing queues outside its path, the largest share first.
    holders: tuple[BorrowingQueue, ...]
    #: Configuration errors of the queue.
    faults: tuple[str, ...]
    #: Summary for people; empty if there is nothing to report.
    sentence: str


def share_of(name: str, queues: Sequence[QueueFacts], reclaim: str = "") -> ShareFacts | None:
    """State of one queue; ``None`` if the queue is unknown or no queue has amounts.

    Args:
        name: the queue.
        queues: usage of all queues.
        reclaim: the result of the last reclaim search of the queue, as a sentence.
    """
    known = {queue.name: queue for queue in queues}
    queue = known.get(name)
    if queue is None or not any(each.used or each.limit or each.guarantee for each in queues):
        return None
    path = list(_ancestors(queue, known))
    owed = tuple(resource for resource in queue.counted if _is_below_guarantee(queue, resource))
    parents = {each.parent for each in queues}
    borrowers = [q for q in queues if q.borrowed and q.name not in parents and q.name not in path]
    holders = sorted(borrowers, key=lambda each: (-each.share, each.name))
    found = tuple(
        BorrowingQueue(each.name, each.borrowed, each.share) for each in holders[:HOLDERS]
    )
    return ShareFacts(
        path=tuple(reversed(path)),
        used=queue.used,
        guarantee=queue.counted,
        limit=queue.limit,
        owed=owed,
        holders=found,
        faults=queue.faults,
        sentence=" ".join(filter(None, (_sentence(queue, owed, found), reclaim))),
    )


def with_implicit_queues(
    queues: Iterable[QueueFacts], records: Iterable[Record]
) -> list[QueueFacts]:
    """Return the same queues; a queue that pods name but that does not exist gets a fault.

    Args:
        queues: usage of all queues.
        records: objects of any kinds, including every existing Queue.
    """
    defined = [each.name for each in records if each.kind == QUEUE]
    return [
        queue
        if queue.name in defined or queue.name == DEFAULT_QUEUE
        else msgspec.structs.replace(queue, faults=(*queue.faults, _undefined(queue.name, defined)))
        for queue in queues
    ]


def _undefined(name: str, defined: Collection[str]) -> str:
    found = nearest(name, defined)
    hint = f" ({suggestion(found)})" if found else ""
    return f"the Queue does not exist, so it has no guarantee or limit{hint}"


def _ancestors(queue: QueueFacts, known: Mapping[str, QueueFacts]) -> Iterable[str]:
    here: QueueFacts | None = queue
    while here is not None:
        yield here.name
        here = known.get(here.parent)


def _is_below_guarantee(queue: QueueFacts, resource: str) -> bool:
    held = amount(resource, queue.used.get(resource, "0"), "used")
    return held < amount(resource, queue.counted[resource], "guarantee")


def _sentence(queue: QueueFacts, owed: Sequence[str], holders: Sequence[BorrowingQueue]) -> str:
    """Summary of one queue."""
    parts = []
    for resource in dict.fromkeys([*queue.counted, *queue.limit]):
        text = f"{queue.used.get(resource, '0')} {resource}"
        if resource in queue.counted:
            text += f" of {queue.counted[resource]} guaranteed"
        if resource in queue.limit:
            text += f" (limit {queue.limit[resource]})"
        parts.append(text)
    text = f"Queue {queue.name} uses {', '.join(parts)}." if parts else ""
    if owed and holders:
        borrowers = (f"{each.queue} ({_amounts(each.borrowed)})" for each in holders)
        text += f" Its unused guarantee is borrowed by {', '.join(borrowers)}."
    return text


def _amounts(amounts: Mapping[str, str]) -> str:
    named = {name: text for name, text in amounts.items() if name != "pods"}
    return ", ".join(f"{text} {name}" for name, text in (named or amounts).items())


def sub_cluster_of(scene: Scene, row: int) -> str:
    """Sub-cluster whose loop places the pod's unit; empty for the default loop."""
    known = sub_clusters_of(scene.profile, scene.cluster)
    name = "" if known is None else known.of_rows(scene.notes.members(row))
    return name if known is not None and known.has_nodes(name) else ""
