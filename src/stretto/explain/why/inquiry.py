"""Evaluation of one class on every node: the rules that refuse it, and the shortage of each node.

``framework.engine.diagnosis`` counts each node under its first refusal, as kube-scheduler does.
This module keeps every refusal of every node as a mask, from which overlaps, the nearest nodes
and sole obstacles are derived.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.nodes.promised import shortage_on
from stretto.explain.why.wanted import node_reason
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_requests, wanted_of
from stretto.framework.contract.rule import (
    BoolArray,
    Fail,
    FilterRule,
    Scope,
    SlotArray,
    Subject,
    View,
)
from stretto.framework.engine.diagnosis import ReportsShortages, diagnose
from stretto.framework.plugins.devices import DevicesRule
from stretto.framework.plugins.fit import NodeResourcesFitRule
from stretto.framework.plugins.node_overcommitment import NodeOvercommitmentRule
from stretto.framework.plugins.numa import NonNativeTopologyRule
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import WHOLE

_BEYOND: Final = (Subject.VOLUMES, Subject.OTHER_PODS, Subject.RESOURCE_CLAIMS)
"""Subjects of refusals that depend neither on the size of a node nor on the node object."""
_SIZES: Final = (
    NodeResourcesFitRule.NAME,
    DevicesRule.NAME,
    NonNativeTopologyRule.NAME,
    NodeOvercommitmentRule.NAME,
)
"""Rules about the size of a node; the first two concern amounts of the node as a whole."""
OVERLAPS: Final = 5
"""Number of listed combinations of reasons, the most frequent first."""


class RefusedBy(NamedTuple):
    """One reason and the nodes to which it applies."""

    #: Rule that refuses the nodes.
    rule: FilterRule
    #: Reason in Kubernetes' form.
    reason: str
    #: bool[k]: nodes to which it applies.
    mask: BoolArray
    #: True if evicting pods could resolve it.
    resolvable: bool
    #: True if the rule excluded every node in its prefilter step.
    nowhere: bool = False

    @property
    def is_size(self) -> bool:
        """True if it concerns the size of nodes: amounts, devices and NUMA nodes."""
        return self.rule.NAME in _SIZES

    @property
    def is_amount(self) -> bool:
        """True if it is a shortage of amounts or devices of the node as a whole."""
        return self.rule.NAME in _SIZES[:2]

    @property
    def forbids(self) -> bool:
        """True if a rule about node objects excludes the nodes, independent of the pods on them."""
        if self.rule.SCOPE is Scope.STATIC and self.rule.SUBJECT not in _BEYOND:
            return True
        return not (self.resolvable or self.is_size or self.rule.SUBJECT in _BEYOND)


class ReasonFacts(msgspec.Struct, frozen=True):
    """Number of nodes that are refused for one reason, alone or together with others."""

    #: Reason in Kubernetes' form.
    reason: str
    #: Name of the rule.
    plugin: str
    #: Number of nodes to which it applies.
    nodes: int
    #: Number of nodes on which it is the only reason.
    alone: int
    #: True if evicting pods could resolve it.
    resolvable: bool


class Overlap(msgspec.Struct, frozen=True):
    """Reasons that apply together."""

    #: The reasons.
    reasons: tuple[str, ...]
    #: Number of nodes to which exactly these reasons apply.
    nodes: int


class LackFacts(msgspec.Struct, frozen=True):
    """A resource that one node lacks."""

    #: Name of the resource.
    resource: str
    #: Exact requested amount.
    requested: int
    #: Exact free amount.
    free: int
    #: Shortage in human units.
    text: str


class NearFacts(msgspec.Struct, frozen=True):
    """A node that refuses the pod, with all reasons."""

    #: Name of the node.
    node: str
    #: Every reason for which it refuses the pod.
    reasons: tuple[str, ...]
    #: Resources of which it has too little.
    lacks: tuple[LackFacts, ...]
    #: True if the node is large enough when empty.
    resolvable: bool
    #: Each reason in terms of this node: the required label, the untolerated taint.
    words: tuple[str, ...] = ()

    @property
    def obstacles(self) -> list[str]:
        """Obstacles on the node for people, with amounts for shortages."""
        amounts = [lack.text for lack in self.lacks]
        named = {lack.resource for lack in self.lacks}
        others = [
            text
            for text in self.words
            if text != "Too many pods" and text.removeprefix("Insufficient ") not in named
        ]
        return [*others, *amounts]


class Inquiry:
    """The verdicts of all nodes on one class."""

    def __init__(
        self, rules: Sequence[FilterRule], pod: PodClass, view: View, slots: SlotArray
    ) -> None:
        """Evaluate every filter on these slots (usually all live slots)."""
        #: Filters.
        self.rules = rules
        #: Class of the pod.
        self.pod = pod
        #: State that the rules read.
        self.view = view
        #: int64[k]: the evaluated slots.
        self.slots = slots
        #: Every reason of every rule.
        self.refused: list[RefusedBy] = []
        for rule in rules:
            self._evaluate(rule)
        #: int32[k]: number of reasons for which each node is refused.
        self.against: npt.NDArray[np.int32] = np.zeros(len(slots), np.int32)
        for each in self.refused:
            self.against += each.mask
        #: bool[k]: nodes that refuse the pod even when empty.
        self.never: BoolArray = self._any([each for each in self.refused if not each.resolvable])

    def _evaluate(self, rule: FilterRule) -> None:
        pod, view, slots = self.pod, self.view, self.slots
        answer = rule.prepare(pod, view)
        if isinstance(answer, Fail):
            everywhere = np.ones(len(slots), np.bool_)
            self.refused.append(RefusedBy(rule, answer.reason, everywhere, False, True))
        elif rule.signature(pod) is not None:
            for refusal in rule.refusals(pod, view, slots):
                if refusal.mask.any():
                    self.refused.append(
                        RefusedBy(rule, refusal.reason, refusal.mask, refusal.resolvable)
                    )

    # ------------------------------------------------------------ masks

    @property
    def fits(self) -> BoolArray:
        """bool[k]: nodes that every rule allows."""
        passes: BoolArray = self.against == 0
        return passes

    def allowed(self) -> BoolArray:
        """bool[k]: nodes that the node rules allow, independent of their capacity."""
        return ~self._any([each for each in self.refused if each.forbids])

    def large(self) -> BoolArray:
        """bool[k]: nodes that are large enough when empty, also those that the pod may not use."""
        return ~self._any([each for each in self.refused if each.is_size and not each.resolvable])

    def full(self) -> BoolArray:
        """bool[k]: nodes that refuse the pod because running pods use their capacity."""
        return self._any([each for each in self.refused if each.is_size and each.resolvable])

    def fits_when_empty(self) -> BoolArray:
        """bool[k]: nodes that would fit when empty, apart from volumes and inter-pod rules."""
        return self.allowed() & self.large()

    def refused_for(self, subject: Subject) -> BoolArray:
        """bool[k]: nodes that are refused for a subject."""
        return self._any([each for each in self.refused if each.rule.SUBJECT is subject])

    def without(self, left_out: Sequence[RefusedBy]) -> BoolArray:
        """bool[k]: nodes that would fit if some reasons did not apply."""
        ignored = {id(each) for each in left_out}
        return ~self._any([each for each in self.refused if id(each) not in ignored])

    def _any(self, some: Sequence[RefusedBy]) -> BoolArray:
        mask = np.zeros(len(self.slots), np.bool_)
        for each in some:
            mask |= each.mask
        return mask

    # ------------------------------------------------------------ output for people

    def message(self) -> str:
        """kube-scheduler's message: each node is counted under the first rule that refuses it."""
        return diagnose(self.rules, self.pod, self.view, self.slots, nearest=0).message

    def reasons(self) -> tuple[ReasonFacts, ...]:
        """Every reason with its counts, the most frequent first; equal texts are merged."""
        merged: dict[tuple[str, str], tuple[BoolArray, bool]] = {}
        for each in self.refused:
            key = (each.reason, each.rule.NAME)
            mask, resolvable = merged.get(key, (np.zeros(len(self.slots), np.bool_), False))
            merged[key] = (mask | each.mask, resolvable or each.resolvable)
        once = self.against == 1
        found = [
            ReasonFacts(text, plugin, int(mask.sum()), int((mask & once).sum()), resolvable)
            for (text, plugin), (mask, resolvable) in merged.items()
        ]
        return tuple(sorted(found, key=lambda fact: (-fact.nodes, fact.reason)))

    def overlaps(self) -> tuple[Overlap, ...]:
        """The most frequent combinations of two or more reasons."""
        several = np.flatnonzero(self.against > 1)
        if not len(several):
            return ()
        bits = np.zeros(len(several), np.int64)
        for number, each in enumerate(self.refused[:62]):
            bits |= each.mask[several].astype(np.int64) << number
        values, counts = np.unique(bits, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:OVERLAPS]
        return tuple(Overlap(self._texts(int(values[i])), int(counts[i])) for i in order.tolist())

    def _texts(self, bits: int) -> tuple[str, ...]:
        named = (each.reason for n, each in enumerate(self.refused) if n < 62 and bits >> n & 1)
        return tuple(dict.fromkeys(named))

    def nearest(self, limit: int) -> tuple[NearFacts, ...]:
        """Refusing nodes with the fewest reasons.

        Ties: nodes that the pod selects, then least shortage.
        """
        refusing = np.flatnonzero(self.against > 0)
        if not len(refusing):
            return ()
        shortage = self.shortage()[refusing]
        ranks = self.view.nodes.name_rank[self.slots[refusing]]
        others = self.refused_for(Subject.NODE_CHOICE)[refusing]
        keys = (ranks, shortage, others, self.against[refusing], self.never[refusing])
        return tuple(self.near(int(i)) for i in refusing[np.lexsort(keys)[:limit]])

    def near(self, place: int) -> NearFacts:
        """All obstacles on one node, by its position among the slots."""
        here = [each for each in self.refused if each.mask[place]]
        slot = int(self.slots[place])
        lacks = [
            lack
            for rule in dict.fromkeys(each.rule for each in here)
            if isinstance(rule, ReportsShortages)
            for lack in rule.lacks(self.pod, self.view, slot)
        ]
        reasons = tuple(dict.fromkeys(each.reason for each in here))
        nodes = self.view.nodes
        return NearFacts(
            node=nodes.names[slot],
            reasons=reasons,
            lacks=tuple(LackFacts(*lack, self._shortage_text(place, *lack)) for lack in lacks),
            resolvable=not bool(self.never[place]),
            words=tuple(node_reason(reason, self.pod, nodes, slot) for reason in reasons),
        )

    def _shortage_text(self, place: int, resource: str, requested: int, free: int) -> str:
        """Shortage as text; for a share of a device, with the largest free share."""
        for number, request in enumerate(self.pod.devices):
            if request.kind == resource and request.milli < WHOLE:
                most = int(self.free_share(number)[place])
                return f"no {resource} has {request.milli} thousandths free (at most {most})"
        return shortage_on(self.view, int(self.slots[place]), resource, (requested, free))

    def free_share(self, number: int) -> npt.NDArray[np.int32]:
        """int32[k]: largest free share of a device that satisfies a request."""
        devices = devices_of(self.view, self.slots)
        wanted = wanted_of(self.pod, self.view, number)._replace(milli=1)
        usable = np.where(fitting(devices, wanted), devices.free, 0)
        return np.asarray(usable.max(axis=1), np.int32)

    def shortage(self) -> npt.NDArray[np.float64]:
        """float64[k]: shortage relative to the request, summed over resources."""
        columns = self.view.columns
        total = np.zeros(len(self.slots), np.float64)
        for column, requested in scaled_requests(self.pod, self.view).items():
            if requested <= 0:
                continue
            known = column < len(columns.free)
            free = columns.free[column, self.slots] if known else np.zeros(len(self.slots))
            total += np.clip(requested - free, 0, None) / requested
        for number, request in enumerate(self.pod.devices):
            total += np.clip(request.count - self.devices_free(number), 0, None) / request.count
        return total

    def devices_free(self, number: int) -> npt.NDArray[np.int64]:
        """int64[k]: free devices that satisfy one of the class's requests."""
        fits = fitting(devices_of(self.view, self.slots), wanted_of(self.pod, self.view, number))
        return np.asarray(np.count_nonzero(fits, axis=1), np.int64)
