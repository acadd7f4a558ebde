"""Policies between sibling queues: the one table of measures by which the next queue is chosen.

Each turn goes to a child queue whose guarantee is not met, or else to the child with the smallest
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
"""Default policy: the queue that has sent the fewest pods for its weight."""


class SiblingUsage(NamedTuple):
    """Input of a measure about one child queue."""

    #: Claims and promises in its subtree, by column, in engine units.
    used: Mapping[int, int]
    #: Capacity of the cluster by column, without columns that have none; pod slots are not a
    #: resource.
    totals: tuple[tuple[int, int], ...]
    #: Weight relative to its siblings, above 0.
    weight: float
    #: Weight for single resources, by column, where it differs from ``weight``.
    weights: Mapping[int, float]
    #: Column of the parent's ``resource``; -1 if the policy does not use it.
    resource: int
    #: The column of a resource or device kind, by name.
    column: Callable[[str], int]

    def capacity(self, column: int) -> int:
        """Capacity of the cluster in a column; 0 for none."""
        return next((whole for each, whole in self.totals if each == column), 0)

    def share(self, name: str) -> float:
        """Fraction of the cluster's capacity of a resource that the queue uses; 0 for none."""
        column = self.column(name)
        whole = self.capacity(column)
        return self.used.get(column, 0) / whole if whole else 0.0


@dataclass(frozen=True)
class SiblingMeasure:
    """One policy between the children of a queue."""

    #: Measure of a child, a finite number: the smallest is next. It depends on its argument alone,
    #: because it is computed again only when the usage or the cluster changes. ``None`` measures
    #: the pods sent so far, relative to the weight.
    measure: Callable[[SiblingUsage], float] | None
    #: True if the policy reads the parent's ``resource``.
    uses_resource: bool = True
    #: Description in one sentence, for listings.
    sentence: str = ""


def dominant_share(usage: SiblingUsage) -> float:
    """Largest share of any resource, divided by the weight (Ghodsi et al., NSDI 2011)."""
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
    """Share of the parent's ``resource``, divided by the weight (weighted max-min)."""
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
    """Measure of a queue, and the reason why it is not usable; empty if it is.

    The measure of a package must not stop the scheduler: if it raises an error or returns no finite
    number, the dominant share is used instead.
    """
    try:
        found = float(measure(usage))
    except Exception as error:  # noqa: BLE001  (the package alone is at fault)
        return dominant_share(usage), f"the policy between queues failed: {error!r}"
    if isfinite(found):
        return found, ""
    return dominant_share(usage), f"the policy between queues returned {found}, not a finite number"
