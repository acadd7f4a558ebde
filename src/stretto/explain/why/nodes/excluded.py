"""Nodes that would fit but that a taint, a cordon or another node rule excludes."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stretto.explain.why.inquiry import Inquiry, RefusedBy
from stretto.explain.why.wanted import untolerated_taints
from stretto.explain.words.amounts import format_count
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import BoolArray, Subject
from stretto.framework.plugins import node_unschedulable, taints

TAINTS_LISTED: Final = 3
"""Number of sets of taints that are named; the nodes of the others are only counted."""


def chosen(inquiry: Inquiry) -> BoolArray:
    """bool[k]: nodes that match the pod's selector, affinity and node name."""
    return ~inquiry.refused_for(Subject.NODE_CHOICE)


def exclusion_sentence(inquiry: Inquiry, among: BoolArray) -> str:
    """Sentence about the rules that exclude every node of a mask.

    Args:
        inquiry: the verdicts of all nodes.
        among: bool[k]: nodes that are all excluded by rules about node objects.
    """
    count = int(among.sum())
    groups = sorted(excluded_groups(inquiry, among), key=lambda group: (-group[0], group[1]))
    subject = _subject(inquiry, among)
    if len(groups) == 1:
        return f"{subject} {_be(count)} excluded by {groups[0][1]}."
    texts = "; ".join(f"{number:,} by {text}" for number, text in groups)
    return f"{subject} {_be(count)} excluded: {texts}."


def taint_groups(inquiry: Inquiry, among: BoolArray) -> Iterator[tuple[BoolArray, tuple[str, ...]]]:
    """Group the nodes of a mask by untolerated taints, the most frequent first.

    Yields:
        bool[k] of the nodes, and the taints as ``key=value:effect``.
    """
    numbers = inquiry.view.nodes.taints_by(inquiry.pod.annotations.launcher)[inquiry.slots]
    masks: dict[tuple[str, ...], BoolArray] = {}
    for number in np.unique(numbers[among]).tolist():
        mask = among & (numbers == number)
        slot = int(inquiry.slots[np.flatnonzero(mask)[0]])
        names = untolerated_taints(inquiry.pod, inquiry.view.nodes, slot)
        if names:
            masks[names] = masks[names] | mask if names in masks else mask
    for names, mask in sorted(masks.items(), key=lambda item: (-int(item[1].sum()), item[0])):
        yield mask, names


def excluded_groups(inquiry: Inquiry, among: BoolArray) -> Iterator[tuple[int, str]]:
    """(number of nodes, clause) for each rule and each set of taints that excludes nodes."""
    for each in inquiry.refused:
        mask = each.mask & among
        if each.forbids and mask.any():
            yield from _of_rule(inquiry, each, mask)


def _of_rule(inquiry: Inquiry, each: RefusedBy, mask: BoolArray) -> Iterator[tuple[int, str]]:
    if each.rule.NAME == node_unschedulable.NAME:
        yield int(mask.sum()), "a cordon"
        return
    if each.rule.NAME != taints.NAME:
        yield int(mask.sum()), f"a rule ({each.reason})"
        return
    found = list(taint_groups(inquiry, mask))
    for here, names in found[:TAINTS_LISTED]:
        word = "taint" if len(names) == 1 else "taints"
        text = f"the {word} {joined(names, 'and')}, which the pod does not tolerate"
        yield int(here.sum()), text
    rest = sum(int(here.sum()) for here, _ in found[TAINTS_LISTED:])
    if rest:
        yield rest, "other taints, which the pod does not tolerate"


def _subject(inquiry: Inquiry, among: BoolArray) -> str:
    """The nodes as the subject of a sentence: their number and their common property."""
    count, total = int(among.sum()), len(inquiry.slots)
    if count == total:
        return "The only node" if total == 1 else f"All {total:,} nodes"
    marks = []
    if not chosen(inquiry).all():
        marks.append("the pod selects")
    if not inquiry.large().all():
        marks.append("are large enough" if count > 1 else "is large enough")
    which = " and ".join(f"that {mark}" for mark in marks)
    return f"The only node {which}" if count == 1 else f"The {format_count(count, 'node')} {which}"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
