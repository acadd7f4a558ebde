"""Policies between sibling queues: the one table of measures by which the next queue is chosen.

Each turn goes to the child queue whose guarantee is not met, then to the one with the smallest
measure; ties go to the older queue. A package adds a policy under the entry-point group
``stretto.sibling_policies``, with a name of the form ``example.com/Name``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple

from stretto.api.types.godel import QueuePolicy
from stretto.base.extensions import OpenRegistry

GROUP: Final = "stretto.sibling_policies"
"""Entry-point group of installed policies; each entry is a ``SiblingMeasure``."""

BY_WEIGHT: Final = "Weighted"
"""The policy of queues that name no other: the queue that has sent the fewest pods."""


class SiblingUsage(NamedTuple):
    """What a measure reads about one child queue."""

    #: Claims and promises in its subtree, by column, in engine units.
    used: Mapping[int, int]
    #: Columns with capacity, and the capacity of the cluster; pod slots are not a resource.
    totals: tuple[tuple[int, int], ...]
    #: Its share relative to its siblings, above 0.
    weight: float
    #: Its weight for single resources, by column, where it differs from ``weight``.
    weights: Mapping[int, float]
    #: Column of the parent's ``resource``; -1 where the policy does not use it.
    resource: int
    #: The column of a resource or device kind, by name.
    column: Callable[[str], int]

    def capacity(self, column: int) -> int:
        """Capacity of the cluster in a column; 0 for none."""
        return next((whole for each, whole in self.totals if each == column), 0)

    def share(self, name: str) -> float:
        """The part of the cluster's capacity of a resource that the queue uses; 0 for none."""
        column = self.column(name)
        whole = self.capacity(column)
        return self.used.get(column, 0) / whole if whole else 0.0


@dataclass(frozen=True)
class SiblingMeasure:
    """One policy between the children of a queue."""

    #: The measure of a child, a finite number: the smallest is next. It depends on its argument
    #: alone, because it is computed again only when the usage or the cluster changes. ``None``
    #: measures the pods sent so far, relative to the weight.
    measure: Callable[[SiblingUsage], float] | None
    #: Whether it reads the parent's ``resource``.
    uses_resource: bool = True
    #: What it does, in one sentence for listings.
    sentence: str = ""


def dominant_share(usage: SiblingUsage) -> float:
    """The largest share of any resource, for the weight (Ghodsi et al., NSDI 2011)."""
    share, used, weights = 0.0, usage.used, usage.weights
    for column, whole in usage.totals:
        amount = used.get(column)
        if amount:
            part = amount / whole
            if weights and column in weights:
                part *= usage.weight / weights[column]
            share = max(share, part)
    return share / usage.weight


def share_of_resource(usage: SiblingUsage) -> float:
    """The share of the parent's ``resource``, for the weight (weighted max-min)."""
    amount, whole = usage.used.get(usage.resource, 0), usage.capacity(usage.resource)
    share = amount / whole if whole else float(amount)
    return share / usage.weights.get(usage.resource, usage.weight)


WEIGHTED: Final = SiblingMeasure(
    None, uses_resource=False, sentence="The queue with the fewest sent pods for its weight."
)
"""The policy ``BY_WEIGHT``."""

SIBLING_POLICIES: Final[OpenRegistry[SiblingMeasure]] = OpenRegistry(
    "policy between queues",
    {
        BY_WEIGHT: WEIGHTED,
        QueuePolicy.DRF: SiblingMeasure(
            dominant_share,
            uses_resource=False,
            sentence="The queue with the smallest dominant share for its weight.",
        ),
        QueuePolicy.FAIR_SHARE: SiblingMeasure(
            share_of_resource,
            sentence="The queue with the smallest share of one resource for its weight.",
        ),
    },
    GROUP,
    SiblingMeasure,
)
"""Every policy by its name in the ``policy`` of the parent queue."""


def measured(measure: Callable[[SiblingUsage], float], usage: SiblingUsage) -> tuple[float, str]:
    """The measure of a queue, and why it is not usable; empty if it is.

    The measure of a package must not stop the scheduler: where it raises or is not a finite number,
    the dominant share takes its place.
    """
    try:
        found = float(measure(usage))
    except Exception as error:  # noqa: BLE001  (the package alone is at fault)
        return dominant_share(usage), f"the policy between queues failed: {error!r}"
    if isfinite(found):
        return found, ""
    return dominant_share(usage), f"the policy between queues returned {found}, not a finite number"
