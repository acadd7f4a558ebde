"""Reasons why a pod is unschedulable, in the format of Kubernetes and in more detail.

kube-scheduler counts each node under the reasons of the first plugin that rejects it, in the order
of the profile. ``message`` has exactly this format, so tools that read kube-scheduler's events can
read it too. Because the first rejection hides the others, ``nearest`` lists the nodes with the
fewest reasons, with all of their reasons.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np

from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Refusal,
    Restrict,
    SlotArray,
    View,
)
from stretto.framework.model.messages import NO_NODES
from stretto.state.classes.table import PodClass

NEAREST: Final = 5
"""Default number of nearest nodes to list."""


class ReasonCount(msgspec.Struct, frozen=True, gc=False):
    """Number of nodes rejected for one reason."""

    #: Text in the format of Kubernetes.
    reason: str
    #: Name of the rule that reports it.
    plugin: str
    #: Number of nodes.
    count: int
    #: True if evictions may resolve it.
    resolvable: bool


class Shortage(msgspec.Struct, frozen=True, gc=False):
    """A resource of which a node has too little for a pod."""

    #: Name of the resource.
    resource: str
    #: Exact requested amount.
    requested: int
    #: Exact free amount; negative on a node that shrank below the requests of its pods.
    free: int


class NearNode(msgspec.Struct, frozen=True, gc=False):
    """A node with few reasons for rejection."""

    #: Name of the node.
    name: str
    #: Slot of the node.
    slot: int
    #: Every reason for its rejection, in the order of the profile.
    reasons: tuple[str, ...]
    #: The resources that it lacks.
    lacks: tuple[Shortage, ...]


class Diagnosis(msgspec.Struct, frozen=True, gc=False):
    """Reasons why a pod is not placed on some nodes, or on any node."""

    #: Number of evaluated nodes.
    total: int
    #: Number of nodes that every rule allows; 0 for an unschedulable pod.
    available: int
    #: Each node under the reasons of the first rejecting rule, in the order of the message.
    reasons: tuple[ReasonCount, ...]
    #: Rejected nodes with the fewest reasons.
    nearest: tuple[NearNode, ...]
    #: ``0/5 nodes are available: 2 Insufficient cpu, 3 node(s) were unschedulable.``
    message: str


@runtime_checkable
class ReportsShortages(Protocol):
    """A filter that can report the shortage of a node."""

    def lacks(self, pod: PodClass, view: View, slot: int) -> Sequence[tuple[str, int, int]]:
        """(resource, requested, free) of all resources that a slot lacks, in exact units."""
        ...


class _PrefilterResult(NamedTuple):
    """The results of the rules before the evaluation of single nodes."""

    #: bool[k]: remaining slots.
    inside: BoolArray
    #: Rules that narrowed the slots, sorted.
    names: tuple[str, ...]
    #: The rule that excluded every node, and its reason.
    failed: tuple[str, str] | None


Said = list[tuple[FilterRule, list[Refusal]]]


def diagnose(
    rules: Sequence[FilterRule],
    pod: PodClass,
    view: View,
    slots: SlotArray,
    nearest: int = NEAREST,
) -> Diagnosis:
    """Evaluate every filter on every slot.

    Args:
        rules: all filters in the order of the profile.
        pod: the unschedulable class.
        view: the state that the rules may read.
        slots: all live slots.
        nearest: number of nearest nodes to list.
    """
    if len(slots) == 0:
        return Diagnosis(0, 0, (), (), NO_NODES)
    pins = _run_prefilters(rules, pod, view, slots)
    said = [
        (rule, rule.refusals(pod, view, slots))
        for rule in rules
        if rule.signature(pod) is not None and not _failed(rule, pins)
    ]
    if pins.failed is not None:
        plugin, reason = pins.failed
        first = [ReasonCount(reason, plugin, len(slots), resolvable=False)]
        available, message = 0, f"0/{len(slots)} nodes are available: {reason}."
    else:
        first, available = _first_refusals(said, pins)
        message = _message(first, available, len(slots))
    return Diagnosis(
        total=len(slots),
        available=available,
        reasons=tuple(sorted(first, key=lambda each: _entry(each.count, each.reason))),
        nearest=tuple(_nearest(said, pod, view, slots, nearest)),
        message=message,
    )


def _failed(rule: FilterRule, pins: _PrefilterResult) -> bool:
    """True if this rule excluded every node beforehand; then its filter reports no reason."""
    return pins.failed is not None and pins.failed[0] == rule.NAME


def _run_prefilters(
    rules: Iterable[FilterRule], pod: PodClass, view: View, slots: SlotArray
) -> _PrefilterResult:
    inside = np.ones(len(slots), np.bool_)
    names: list[str] = []
    for rule in rules:
        answer = rule.prepare(pod, view)
        if isinstance(answer, Fail):
            return _PrefilterResult(inside, (), (rule.NAME, answer.reason))
        if isinstance(answer, Restrict) and rule.PREFILTERS:
            inside &= np.isin(slots, answer.slots)
            names.append(rule.NAME)
    names.sort()
    failed = None
    if len(names) > 1 and not inside.any():
        listed = f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"
        failed = (names[0], listed)
    return _PrefilterResult(inside, tuple(names), failed)


def _first_refusals(said: Said, pins: _PrefilterResult) -> tuple[list[ReasonCount], int]:
    """Each node under the reasons of the first rule that rejects it, and the remaining count."""
    counts = []
    outside = int((~pins.inside).sum())
    if outside:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(pins.names)}]"
        counts.append(ReasonCount(reason, ", ".join(pins.names), outside, resolvable=False))
    left = pins.inside.copy()
    for rule, refusals in said:
        still = left.copy()
        for refusal in refusals:
            count = int((refusal.mask & left).sum())
            still &= ~refusal.mask
            if count:
                counts.append(ReasonCount(refusal.reason, rule.NAME, count, refusal.resolvable))
        left = still
    return counts, int(left.sum())


def _entry(count: int, reason: str) -> str:
    """One reason in a message."""
    return f"{count} {reason}"


def _message(counts: Iterable[ReasonCount], available: int, total: int) -> str:
    """kube-scheduler's message: entries sorted by their text, numbers included."""
    histogram: Counter[str] = Counter()
    for each in counts:
        histogram[each.reason] += each.count
    return message_of(histogram, available, total)


def message_of(histogram: Mapping[str, int], available: int, total: int) -> str:
    """kube-scheduler's message for the number of nodes by reason."""
    entries = sorted(_entry(count, reason) for reason, count in histogram.items())
    head = f"{available}/{total} nodes are available"
    return f"{head}: {', '.join(entries)}." if entries else f"{head}."


def _nearest(
    said: Said, pod: PodClass, view: View, slots: SlotArray, limit: int
) -> Iterable[NearNode]:
    """Rejected nodes with the fewest reasons.

    Ties: first nodes where evictions may help, then by name.
    """
    against = np.zeros(len(slots), np.int32)
    for_good = np.zeros(len(slots), np.int32)
    for _, refusals in said:
        for refusal in refusals:
            against += refusal.mask
            if not refusal.resolvable:
                for_good += refusal.mask
    order = np.lexsort((view.nodes.name_rank[slots], for_good, against))
    for position in order[against[order] > 0][:limit].tolist():
        slot = int(slots[position])
        yield NearNode(
            name=view.nodes.names[slot],
            slot=slot,
            reasons=tuple(r.reason for _, refusals in said for r in refusals if r.mask[position]),
            lacks=tuple(
                Shortage(*lack)
                for rule, refusals in said
                if isinstance(rule, ReportsShortages) and any(r.mask[position] for r in refusals)
                for lack in rule.lacks(pod, view, slot)
            ),
        )
