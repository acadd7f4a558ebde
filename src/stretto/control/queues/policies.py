"""Queue policies: the one table of orders that a queue may name.

A policy is an order over the units of one queue (``orders``) with two properties: whether the head
blocks, and whether units may be backfilled past it. A package adds a policy under the entry-point
group ``stretto.queue_policies``, with a name of the form ``example.com/Name``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stretto.api.types.godel import QueuePolicy
from stretto.base.errors import UnknownNameError
from stretto.base.extensions import OpenRegistry
from stretto.control.queues.backfill import EasyOrder
from stretto.control.queues.fading_priority import DecayingPriorityOrder
from stretto.control.queues.orders import (
    RankOrder,
    UnitOrder,
    by_priority,
    first_come,
    shortest_first,
)
from stretto.state.queues.siblings import BY_WEIGHT, SIBLING_POLICIES

GROUP: Final = "stretto.queue_policies"
"""Entry-point group of installed policies; each entry is an ``OrderPolicy``."""


_WORD_BREAK: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class OrderPolicy:
    """One queue policy."""

    #: Creates the empty order of one queue.
    order: Callable[[], UnitOrder]
    #: True if no unit passes a failed head, unless the queue's settings override this.
    blocking: bool = False
    #: True if units that do not delay a blocked head may pass it; the head blocks.
    backfills: bool = False
    #: True if every waiting unit has a reservation in order; otherwise only the head has one.
    reserves_all: bool = False
    #: Second name on the command line; empty for none.
    short: str = ""
    #: Description in one sentence, for lists of policies.
    sentence: str = ""


POLICIES: Final[OpenRegistry[OrderPolicy]] = OpenRegistry(
    "queue policy",
    {
        QueuePolicy.FIFO: OrderPolicy(
            lambda: RankOrder(first_come),
            blocking=True,
            sentence="First come, first served; the head blocks.",
        ),
        QueuePolicy.FIFO_SKIP: OrderPolicy(
            lambda: RankOrder(first_come),
            short="skip",
            sentence="First come, first served; units that do not fit are passed.",
        ),
        QueuePolicy.PRIORITY: OrderPolicy(
            lambda: RankOrder(by_priority),
            sentence="The highest priority first, then first come.",
        ),
        QueuePolicy.FADING_PRIORITY: OrderPolicy(
            DecayingPriorityOrder,
            sentence="The highest priority first; it decays with each failed attempt.",
        ),
        QueuePolicy.SHORTEST_FIRST: OrderPolicy(
            lambda: RankOrder(shortest_first),
            blocking=True,
            short="sjf",
            sentence="The shortest run time first; the head blocks.",
        ),
        QueuePolicy.EASY: OrderPolicy(
            EasyOrder,
            blocking=True,
            backfills=True,
            sentence="First come, first served; units that do not delay the head may pass it.",
        ),
        QueuePolicy.CONSERVATIVE: OrderPolicy(
            EasyOrder,
            blocking=True,
            backfills=True,
            reserves_all=True,
            sentence="First come, first served; units that delay no unit before them may pass.",
        ),
        QueuePolicy.DRF: OrderPolicy(
            lambda: RankOrder(first_come),
            sentence="The child queue with the smallest dominant share for its weight first.",
        ),
        QueuePolicy.FAIR_SHARE: OrderPolicy(
            lambda: RankOrder(first_come),
            sentence="The child queue with the smallest share of one resource first.",
        ),
    },
    GROUP,
    OrderPolicy,
)
"""Every policy by name.

DRF and FairShare order child queues; their own units are ordered by arrival.
"""


FIRST_COME: Final = OrderPolicy(lambda: RankOrder(first_come))
"""Order of the own units of a queue whose policy orders only its child queues."""


def order_policy(name: str) -> OrderPolicy:
    """Return the order of the units of a queue with this ``policy``.

    Raises:
        UnknownNameError: neither an order nor a policy between queues has this name.
        InputError: the package of the policy cannot be loaded, or offers another type.
    """
    if name in POLICIES:
        return POLICIES.get(name)
    if name in SIBLING_POLICIES and name != BY_WEIGHT:
        SIBLING_POLICIES.get(name)
        return FIRST_COME
    raise UnknownNameError(POLICIES.kind, name, policy_names())


def policy_names() -> tuple[str, ...]:
    """Every name that the ``policy`` of a queue may have: orders, then policies between queues."""
    between = [name for name in SIBLING_POLICIES.names() if name != BY_WEIGHT]
    return tuple(dict.fromkeys((*POLICIES.names(), *between)))


def policy_named(word: str) -> str:
    """Name of a policy from a word of the command line: ``FifoSkip``, ``fifo-skip``, ``skip``.

    Raises:
        UnknownNameError: there is no such policy.
    """
    words: dict[str, str] = {}
    for name in POLICIES.names() if word not in POLICIES.built_in() else POLICIES.built_in():
        words[name] = words[_WORD_BREAK.sub("-", name).lower()] = str(name)
    words |= {policy.short: str(name) for name, policy in POLICIES.items() if policy.short}
    if word not in words:
        raise UnknownNameError(POLICIES.kind, word, words)
    return words[word]
