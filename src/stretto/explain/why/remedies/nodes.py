"""Cures of refusals by nodes: capacity, inter-pod rules, smaller requests and node rules."""

from collections.abc import Iterator

import numpy as np

from stretto.explain.why.inquiry import Inquiry, RefusedBy
from stretto.explain.why.remedies.between import between_cures
from stretto.explain.why.remedies.capacity import capacity_cures, capacity_on
from stretto.explain.why.remedies.node_rules import cure_on_node, node_rule_cures
from stretto.explain.why.remedies.remedy import CureKind, Remedy, together
from stretto.explain.why.remedies.smaller import smaller_requests
from stretto.explain.words.standing import retry_condition
from stretto.state.cluster.cluster import Cluster


def cures_for(inquiry: Inquiry, cluster: Cluster, events: int) -> tuple[Remedy, ...]:
    """Cures for a class that fits on no node.

    Args:
        inquiry: the verdicts of all nodes.
        cluster: the running pods.
        events: ``Cure`` bits of the events that trigger a retry.
    """
    found = [
        *capacity_cures(inquiry),
        *between_cures(inquiry, cluster),
        *smaller_requests(inquiry),
        *node_rule_cures(inquiry),
    ]
    if not found:
        found = [*_together(inquiry)]
    condition = retry_condition(events)
    if condition and bool(inquiry.fits_when_empty().any()):
        found.append(Remedy(CureKind.EVENT, f"Retried {condition}."))
    return tuple(found)


def _together(inquiry: Inquiry) -> tuple[Remedy, ...]:
    """Cures of all obstacles on the nearest node for which each reason has a cure."""
    curable = [each for each in inquiry.refused if _is_curable(each)]
    places = np.flatnonzero(inquiry.without(curable) & (inquiry.against > 0))
    if not len(places):
        return ()
    keys = (inquiry.shortage()[places], inquiry.against[places])
    place = int(places[np.lexsort(keys)[0]])
    found = list(_on_node(inquiry, place, curable))
    cures = tuple(each for each in found if each is not None)
    return together(cures) if len(cures) == len(found) else ()


def _is_curable(each: RefusedBy) -> bool:
    return each.forbids or (each.is_amount and each.resolvable)


def _on_node(inquiry: Inquiry, place: int, curable: list[RefusedBy]) -> Iterator[Remedy | None]:
    """Cures of each rule that refuses a node and of all amounts; ``None`` for a missing cure."""
    here = [each for each in curable if each.mask[place]]
    for each in here:
        if each.forbids:
            yield cure_on_node(inquiry, each, place)
    if any(each.is_amount for each in here):
        yield capacity_on(inquiry, place)
