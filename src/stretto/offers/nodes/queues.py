"""Queues as roles: guarantee, limit, weight and parent of a Queue apply to its role.

The role of a queue is its path in the tree: queue ``b`` below ``a`` is ``a/b``. The role ``*`` is
the default queue. A role without a Queue has neither guarantee nor limit.
"""

from collections.abc import Mapping
from typing import Final

from stretto.api.types.godel import Queue
from stretto.api.wire.quantity import amounts
from stretto.api.wire.resources import ResourceList
from stretto.offers.messages.schema import Message
from stretto.offers.nodes.amounts import MILLI, to_milli
from stretto.state.work.units import DEFAULT_QUEUE

ANY_ROLE: Final = "*"
_DEEPEST: Final = 64
"""Maximum depth of a tree of queues, at which a cycle of parents ends."""


def roles_of(queues: Mapping[str, Queue]) -> dict[str, str]:
    """The role of each queue, by the name of the queue."""
    return {name: _path(queues, name) for name in queues}


def queue_of(role: str, roles: Mapping[str, str]) -> str:
    """The queue that a role charges; a role without a Queue has its own queue name."""
    if role == ANY_ROLE:
        return DEFAULT_QUEUE
    named = role.rpartition("/")[2]
    return named if roles.get(named) == role else role.replace("/", ".")


def quota_config(role: str, queue: Queue) -> Message:
    """The quota of a queue, as a QuotaConfig."""
    spec = queue.spec
    return {
        "role": role,
        "guarantees": _scalars(spec.guarantee, "guarantee"),
        "limits": _scalars(spec.limit, "limit"),
    }


def _scalars(listed: ResourceList, where: str) -> Message:
    milli = (to_milli(name, exact) for name, exact in amounts(listed, where).items())
    return {name: {"value": amount / MILLI} for name, amount in milli}


def _path(queues: Mapping[str, Queue], name: str) -> str:
    if name == DEFAULT_QUEUE:
        return ANY_ROLE
    parts = [name]
    while len(parts) < _DEEPEST:
        parent = queues[parts[-1]].spec.parent if parts[-1] in queues else ""
        if not parent or parent in parts:
            break
        parts.append(parent)
    return "/".join(reversed(parts))
