"""Capacity that must become free on one node, if nothing else refuses the pod there."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stretto.explain.why.inquiry import Inquiry, LackFacts
from stretto.explain.why.remedies.remedy import CureKind, NodeAmount, Remedy
from stretto.explain.words.amounts import format_amount
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import BoolArray
from stretto.state.rows.devices import WHOLE

NODES: Final = 2
"""Number of nodes for which the missing capacity is reported."""


def capacity_cures(inquiry: Inquiry) -> Iterator[Remedy]:
    """Cures for the nodes that lack only capacity, the least shortage first."""
    places = np.flatnonzero(only_full(inquiry))
    shortage = inquiry.shortage()[places]
    ranks = inquiry.view.nodes.name_rank[inquiry.slots[places]]
    for place in places[np.lexsort((ranks, shortage))[:NODES]].tolist():
        found = capacity_on(inquiry, place)
        if found is not None:
            yield found


def only_full(inquiry: Inquiry) -> BoolArray:
    """bool[k]: nodes that refuse the pod only because of used capacity."""
    full = [each for each in inquiry.refused if each.is_amount and each.resolvable]
    return inquiry.without(full) & (inquiry.against > 0)


def capacity_on(inquiry: Inquiry, place: int) -> Remedy | None:
    """Cure that frees capacity on one node; ``None`` if no amount is missing."""
    near = inquiry.near(place)
    if not near.lacks:
        return None
    amounts = tuple(_missing(inquiry, place, near.node, lack) for lack in near.lacks)
    parts = joined([_text(each) for each in amounts], "and")
    first = amounts[0]
    sentence = f"Freeing {parts} on {near.node} would be enough."
    return Remedy(
        CureKind.CAPACITY, sentence, near.node, first.resource, first.amount, amounts=amounts
    )


def _missing(inquiry: Inquiry, place: int, node: str, lack: LackFacts) -> NodeAmount:
    """Missing amount of a resource; for a share of a device, thousandths of one device."""
    for number, request in enumerate(inquiry.pod.devices):
        if request.kind == lack.resource and request.milli < WHOLE:
            most = int(inquiry.free_share(number)[place])
            return NodeAmount(node, f"{lack.resource} milli", request.milli - most)
    return NodeAmount(node, lack.resource, lack.requested - lack.free)


def _text(amount: NodeAmount) -> str:
    kind = amount.resource.removesuffix(" milli")
    if kind != amount.resource:
        return f"{amount.amount} thousandths of one {kind}"
    return format_amount(amount.resource, amount.amount)
