"""Settings of one queue in the tree: parent, weight, guarantee and limit.

A queue of pods and a role of Mesos have the same settings, so this module refers neither to a
dispatcher nor to an allocator.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from stretto.api.types.godel import QueuePolicy
from stretto.api.wire.quantity import format_amount
from stretto.base.errors import InputError
from stretto.state.queues.siblings import BY_WEIGHT, SIBLING_POLICIES

ROOT: Final = "root"
"""Name of the queue whose policy determines the turns between all top-level queues."""


class SiblingPolicy(StrEnum):
    """Names of the built-in policies between queues; ``SIBLING_POLICIES`` is the whole table."""

    #: By sent pods: the queue that has sent the fewest pods for its weight.
    WEIGHT = BY_WEIGHT
    #: The queue with the smallest dominant share for its weight.
    DRF = QueuePolicy.DRF.value
    #: The queue with the smallest share of one resource for its weight.
    FAIR_SHARE = QueuePolicy.FAIR_SHARE.value


_ORDERS: Final = frozenset(QueuePolicy) - frozenset(SIBLING_POLICIES.built_in())
"""Built-in names that order only the units of a queue."""


def sibling_policy(policy: str) -> str:
    """Policy between the children of a queue with this ``policy``; by weight for other policies."""
    if policy in _ORDERS:  # the common case needs no scan of installed packages
        return SiblingPolicy.WEIGHT
    return str(policy) if policy in SIBLING_POLICIES else SiblingPolicy.WEIGHT


@dataclass(frozen=True)
class QueueShape:
    """Place of one queue in the tree, and its share of the cluster.

    Raises:
        InputError: a weight is not positive, or an amount or ``max_running_units`` is negative.
    """

    #: Name of the queue.
    name: str
    #: Order of its units (control) or policy between its children, by name.
    policy: str = QueuePolicy.FIFO_SKIP
    #: Weight relative to its siblings.
    weight: float = 1.0
    #: Parent queue; empty for a top-level queue.
    parent: str = ""
    #: Weight for single resources, where it differs from ``weight``.
    weights: Mapping[str, float] = field(default_factory=dict)
    #: Resource that ``FairShare`` or a policy of a package measures between its children.
    resource: str = "cpu"
    #: Guarantee: amounts by resource, in engine units, that it can reclaim from borrowing queues.
    guarantee: Mapping[str, int] = field(default_factory=dict)
    #: Limit: amounts by resource, in engine units, that it never exceeds; other resources have no
    #: limit.
    limit: Mapping[str, int] = field(default_factory=dict)
    #: Maximum number of running units in it and its children; ``None`` for no maximum.
    max_running_units: int | None = None
    #: True if the Queue object is deleted but in use: running pods continue, no new unit starts.
    draining: bool = False

    def __post_init__(self) -> None:
        for name, share in (("", self.weight), *self.weights.items()):
            if not 0 < share < inf:
                where = f"queue {self.name}: weight {name}".strip()
                raise InputError(where, share, "a number above 0", "use 1 for an equal share")
        for key, amounts in (("guarantee", self.guarantee), ("limit", self.limit)):
            for resource, amount in amounts.items():
                if amount < 0:
                    where = f"queue {self.name}: {key}.{resource}"
                    got = format_amount(resource, amount)
                    raise InputError(where, got, "an amount of 0 or more")
        if self.max_running_units is not None and self.max_running_units < 0:
            where = f"queue {self.name}: maxRunningUnits"
            raise InputError(where, self.max_running_units, "0 or more", "0 closes the queue")

    @property
    def siblings(self) -> str:
        """The policy between its children."""
        return sibling_policy(self.policy)

    @property
    def in_tree(self) -> bool:
        """True if a setting requires the tree of queues."""
        settings = self.parent or self.guarantee or self.limit or self.weights or self.draining
        return bool(settings) or self.max_running_units is not None
