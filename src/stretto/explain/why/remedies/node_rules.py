"""Cures of rules about node objects: tolerations, selectors, cordons and rules of the profile.

Each cure is verified on the verdicts: without the rule, the named nodes fit now.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stretto.explain.why.inquiry import Inquiry, RefusedBy
from stretto.explain.why.nodes.excluded import taint_groups
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.wanted import node_reason
from stretto.explain.words.amounts import format_count
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import BoolArray
from stretto.framework.plugins import node_affinity, node_unschedulable, taints

TAINTS_LISTED: Final = 2
"""Number of sets of taints for which a toleration is suggested."""


def node_rule_cures(inquiry: Inquiry) -> Iterator[Remedy]:
    """Cures with which nodes fit now, the one for the most nodes first."""
    found = []
    for kind, refusals in _by_kind(inquiry).items():
        opened = inquiry.without(refusals)
        if opened.any():
            found.append((int(opened.sum()), kind, refusals, opened))
    for _, kind, refusals, opened in sorted(found, key=lambda each: -each[0]):
        yield from _cures(inquiry, kind, refusals, opened)


def cure_on_node(inquiry: Inquiry, refusal: RefusedBy, place: int) -> Remedy | None:
    """The cure of one rule about node objects on one node; ``None`` if there is none."""
    mask = np.zeros(len(inquiry.slots), np.bool_)
    mask[place] = True
    return next(_cures(inquiry, _kind(refusal), [refusal], mask), None)


def _by_kind(inquiry: Inquiry) -> dict[CureKind, list[RefusedBy]]:
    kinds: dict[CureKind, list[RefusedBy]] = {}
    for each in inquiry.refused:
        if each.forbids:
            kinds.setdefault(_kind(each), []).append(each)
    return kinds


def _kind(each: RefusedBy) -> CureKind:
    if each.rule.NAME == taints.NAME:
        return CureKind.TOLERATION
    if each.rule.NAME == node_unschedulable.NAME:
        return CureKind.UNCORDON
    if each.reason == node_affinity.REASON:
        return CureKind.SELECTOR
    return CureKind.RULE


def _cures(
    inquiry: Inquiry, kind: CureKind, refusals: list[RefusedBy], opened: BoolArray
) -> Iterator[Remedy]:
    if _changes_counts(inquiry, kind):
        return
    names, count = inquiry.view.nodes.names, int(opened.sum())
    first = int(inquiry.slots[np.flatnonzero(opened)[0]])
    would = f"would make {format_count(count, 'node')} fit"
    if kind is CureKind.TOLERATION:
        yield from _tolerations(inquiry, opened)
        return
    if kind is CureKind.UNCORDON:
        yield Remedy(kind, f"Uncordoning {names[first]} would make it fit.", names[first])
        return
    words = node_reason(refusals[0].reason, inquiry.pod, inquiry.view.nodes, first)
    if kind is CureKind.SELECTOR:
        sentence = f"Dropping the node selector and affinity {would} ({names[first]}: {words})."
        yield Remedy(kind, sentence, names[first])
        return
    sentence = f"{format_count(count, 'node')} would fit if “{refusals[0].reason}” did not apply."
    yield Remedy(kind, sentence, names[first])


def _changes_counts(inquiry: Inquiry, kind: CureKind) -> bool:
    """Return whether a cure changes the set of nodes that the pod's spread constraints count."""
    hard = inquiry.pod.terms.hard
    if kind is CureKind.SELECTOR:
        return any(each.by_affinity for each in hard)
    return kind is CureKind.TOLERATION and any(each.by_taints for each in hard)


def _tolerations(inquiry: Inquiry, opened: BoolArray) -> Iterator[Remedy]:
    """A toleration for each of the most frequent sets of taints."""
    names = inquiry.view.nodes.names
    for mask, found in list(taint_groups(inquiry, opened))[:TAINTS_LISTED]:
        node = names[int(inquiry.slots[np.flatnonzero(mask)[0]])]
        count = format_count(int(mask.sum()), "node")
        sentence = f"Tolerating {joined(found, 'and')} would make {count} fit ({node})."
        yield Remedy(CureKind.TOLERATION, sentence, node, taints=found)
