"""What a unit's queue has to do with its waiting: its share, and who holds what it is owed.

Worked out from how all queues fared at one instant (``control.dispatcher.usage_report``), which a
living plane tells and the record of a run keeps.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import QUEUE
from stretto.api.wire.quantity import amount
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.explain.words.nearest import nearest
from stretto.state.work.units import DEFAULT_QUEUE
from stretto.stores.store import Record

HOLDERS: Final = 3
"""Queues named that hold what others are owed."""


class BorrowingQueue(msgspec.Struct, frozen=True):
    """A queue that holds more than it is guaranteed."""

    #: Its name.
    queue: str
    #: What it has borrowed, by resource.
    borrowed: dict[str, str]
    #: The largest part of any resource of the cluster that it holds, 0 to 1.
    share: float


class ShareFacts(msgspec.Struct, frozen=True):
    """How a unit's queue stood."""

    #: The queue, with all that it is part of, the outermost first.
    path: tuple[str, ...]
    #: What it holds, by resource.
    used: dict[str, str]
    #: What it gets back, by resource.
    guarantee: dict[str, str]
    #: What it never exceeds, by resource.
    limit: dict[str, str]
    #: Resources of which it holds less than it is guaranteed.
    owed: tuple[str, ...]
    #: Who holds more than guaranteed, beside its path; who has most comes first.
    holders: tuple[BorrowingQueue, ...]
    #: What is wrong with it, or not as written.
    faults: tuple[str, ...]
    #: All of it for people; empty where there is nothing to say.
    sentence: str


def share_of(name: str, queues: Sequence[QueueFacts]) -> ShareFacts | None:
    """How a queue stood among all; ``None`` where nothing is known of it."""
    known = {queue.name: queue for queue in queues}
    queue = known.get(name)
    if queue is None or not any(each.used or each.limit or each.guarantee for each in queues):
        return None
    path = list(_upwards(queue, known))
    owed = tuple(resource for resource in queue.counted if _lacks(queue, resource))
    parents = {each.parent for each in queues}
    lenders = [q for q in queues if q.borrowed and q.name not in parents and q.name not in path]
    holders = sorted(lenders, key=lambda each: (-each.share, each.name))
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
        sentence=_sentence(queue, owed, found),
    )


def with_implicit_queues(
    queues: Iterable[QueueFacts], records: Iterable[Record]
) -> list[QueueFacts]:
    """The same queues; those that pods name and nobody has made have that for a fault.

    Args:
        queues: how they fare.
        records: the Queues that exist, other objects among them or not.
    """
    defined = [each.name for each in records if each.kind == QUEUE]
    return [
        queue
        if queue.name in defined or queue.name == DEFAULT_QUEUE
        else msgspec.structs.replace(queue, faults=(*queue.faults, _unmade(queue.name, defined)))
        for queue in queues
    ]


def _unmade(name: str, defined: Collection[str]) -> str:
    found = nearest(name, defined)
    hint = f" (did you mean {' or '.join(found)}?)" if found else ""
    return f"no Queue of that name is there, so it has neither guarantee nor limit{hint}"


def _upwards(queue: QueueFacts, known: Mapping[str, QueueFacts]) -> Iterable[str]:
    here: QueueFacts | None = queue
    while here is not None:
        yield here.name
        here = known.get(here.parent)


def _lacks(queue: QueueFacts, resource: str) -> bool:
    held = amount(resource, queue.used.get(resource, "0"), "used")
    return held < amount(resource, queue.counted[resource], "guarantee")


def _sentence(queue: QueueFacts, owed: Sequence[str], holders: Sequence[BorrowingQueue]) -> str:
    """What to say of it."""
    parts = []
    for resource in dict.fromkeys([*queue.counted, *queue.limit]):
        text = f"{queue.used.get(resource, '0')} {resource}"
        if resource in queue.counted:
            text += f" of {queue.counted[resource]} guaranteed"
        if resource in queue.limit:
            text += f" (limit {queue.limit[resource]})"
        parts.append(text)
    said = f"Queue {queue.name} holds {', '.join(parts)}." if parts else ""
    if owed and holders:
        whose = (f"{each.queue} has borrowed {_amounts(each.borrowed)}" for each in holders)
        said += f" What it is owed is held by others: {'; '.join(whose)}."
    return said


def _amounts(amounts: Mapping[str, str]) -> str:
    named = {name: text for name, text in amounts.items() if name != "pods"}
    return ", ".join(f"{text} {name}" for name, text in (named or amounts).items())
