"""Queues as shards and binder see them: only the fields that protect running pods.

The dispatcher enforces order and limits before it dispatches pods. A second check would hold back
pods that the dispatcher has admitted.
"""

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from stretto.api.types.godel import Queue, QueuePolicy
from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError
from stretto.stores.store import Record

_QUEUES: Final = msgspec.json.Decoder(Queue)


def guarantee_of(record: Record) -> Record:
    """A Queue with only its parent and its guarantee, which is limited by the queue's limit.

    Unreadable objects do not change and are reported as usual.
    """
    try:
        queue = _QUEUES.decode(record.body)
        body: dict[str, Any] = msgspec.json.decode(record.body)
        limit = {name: amount(name, most, "limit") for name, most in queue.spec.limit.items()}
        guarantee = {
            name: queue.spec.limit[name]
            if amount(name, least, "guarantee") > limit[name]
            else least
            for name, least in queue.spec.guarantee.items()
            if name in limit
        }
    except (msgspec.DecodeError, InputError, RecursionError):
        return record
    spec = {"parent": queue.spec.parent, "policy": QueuePolicy.PRIORITY}
    body["spec"] = {**spec, "guarantee": {**queue.spec.guarantee, **guarantee}}
    return replace(record, body=msgspec.json.encode(body))
