"""One class asked of every node: which rules refuse it where, and how far each node is from it.

``framework.engine.diagnosis`` gives kube-scheduler's sentence, each node under its first refusal.
Here every refusal of every node is kept as a mask, so that overlaps, the nearest nodes and what
stands alone in the way can be read off.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.wanted import node_reason
from stretto.explain.words.amounts import short_of
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_asks, wanted_of
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
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import WHOLE

_BEYOND: Final = (Subject.VOLUMES, Subject.OTHER_PODS)
"""Subjects of refusals that do not depend on the size of a node."""
OVERLAPS: Final = 5
"""Commonest combinations of reasons that are listed."""


class RefusedBy(NamedTuple):
    """One reason, and where it holds."""

    #: The rule.
    rule: FilterRule
    #: Text in Kubernetes' form.
    reason: str
    #: bool[k]: nodes that it holds for.
    mask: BoolArray
    #: Whether removing pods could cure it.
    resolvable: bool
    #: The rule said "nowhere" before it looked at any node.
    nowhere: bool = False


class ReasonFacts(msgspec.Struct, frozen=True):
    """How many nodes are refused for one reason, alone or among others."""

    #: Text in Kubernetes' form.
    reason: str
    #: Name of the rule.
    plugin: str
    #: Nodes that it holds for.
    nodes: int
    #: Nodes where nothing else stands in the way.
    alone: int
    #: Whether removing pods could cure it.
    resolvable: bool


class Overlap(msgspec.Struct, frozen=True):
    """Reasons that hold together."""

    #: The reasons.
    reasons: tuple[str, ...]
    #: Nodes where exactly these hold.
    nodes: int


class LackFacts(msgspec.Struct, frozen=True):
    """What one node has too little of."""

    #: Name of the resource.
    resource: str
    #: Exact amount asked for.
    asked: int
    #: Exact amount free.
    free: int
    #: The same in human units.
    text: str


class NearFacts(msgspec.Struct, frozen=True):
    """A node that refuses, with all that stands in the way there."""

    #: Its name.
    node: str
    #: Every reason against it.
    reasons: tuple[str, ...]
    #: What it has too little of.
    lacks: tuple[LackFacts, ...]
    #: Whether it could hold the pod if it were empty.
    resolvable: bool
    #: Each reason as it is on this node: the label that is wanted, the taint that is not borne.
    words: tuple[str, ...] = ()


class Inquiry:
    """What all nodes say to one class."""

    def __init__(
        self, rules: Sequence[FilterRule], pod: PodClass, view: View, slots: SlotArray
    ) -> None:
        """Ask every filter about these slots (all live ones, mostly)."""
        self._rules = rules
        #: The class.
        self.pod = pod
        #: What the rules looked at.
        self.view = view
        #: int64[k]: the slots asked about.
        self.slots = slots
        #: Every reason of every rule.
        self.refused: list[RefusedBy] = []
        for rule in rules:
            self._ask(rule)
        #: int32[k]: reasons against each node.
        self.against: npt.NDArray[np.int32] = np.zeros(len(slots), np.int32)
        for each in self.refused:
            self.against += each.mask
        #: bool[k]: nodes that would refuse it even if they were empty.
        self.never: BoolArray = self._any([each for each in self.refused if not each.resolvable])

    def _ask(self, rule: FilterRule) -> None:
        pod, view, slots = self.pod, self.view, self.slots
        answer = rule.prepare(pod, view)
        if isinstance(answer, Fail):
            everywhere = np.ones(len(slots), np.bool_)
            self.refused.append(RefusedBy(rule, answer.reason, everywhere, False, True))
        elif rule.signature(pod) is not None:
            for said in rule.refusals(pod, view, slots):
                if said.mask.any():
                    self.refused.append(RefusedBy(rule, said.reason, said.mask, said.resolvable))

    # ------------------------------------------------------------ masks

    @property
    def fits(self) -> BoolArray:
        """bool[k]: nodes that every rule allows."""
        passes: BoolArray = self.against == 0
        return passes

    def allowed(self) -> BoolArray:
        """bool[k]: nodes that the rules on node objects allow, whatever room they have."""
        return ~self._any([each for each in self.refused if each.rule.SCOPE is Scope.STATIC])

    def fits_when_empty(self) -> BoolArray:
        """bool[k]: nodes that could hold it empty, its volumes and other pods aside."""
        never = [each for each in self.refused if not each.resolvable]
        return ~self._any([e for e in never if e.rule.SUBJECT not in _BEYOND])

    def refused_for(self, subject: Subject) -> BoolArray:
        """bool[k]: nodes that are refused for a subject."""
        return self._any([each for each in self.refused if each.rule.SUBJECT is subject])

    def without(self, left_out: Sequence[RefusedBy]) -> BoolArray:
        """bool[k]: nodes that would allow it if some reasons did not hold."""
        ignored = {id(each) for each in left_out}
        return ~self._any([each for each in self.refused if id(each) not in ignored])

    def _any(self, some: Sequence[RefusedBy]) -> BoolArray:
        mask = np.zeros(len(self.slots), np.bool_)
        for each in some:
            mask |= each.mask
        return mask

    # ------------------------------------------------------------ what people read

    def message(self) -> str:
        """kube-scheduler's sentence: each node under the first rule that refuses it."""
        return diagnose(self._rules, self.pod, self.view, self.slots, nearest=0).message

    def reasons(self) -> tuple[ReasonFacts, ...]:
        """Every reason with its counts, the most frequent first; equal texts are one."""
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
        """The commonest combinations of two or more reasons."""
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
        """Nodes that refuse for the fewest reasons, those that are meant first, then by lack."""
        refusing = np.flatnonzero(self.against > 0)
        if not len(refusing):
            return ()
        shortage = self.shortage()[refusing]
        ranks = self.view.nodes.name_rank[self.slots[refusing]]
        others = self.refused_for(Subject.NODE_CHOICE)[refusing]
        keys = (ranks, shortage, others, self.against[refusing], self.never[refusing])
        return tuple(self.near(int(i)) for i in refusing[np.lexsort(keys)[:limit]])

    def near(self, place: int) -> NearFacts:
        """All that stands in the way on one of the nodes, by its place among the slots."""
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

    def _shortage_text(self, place: int, resource: str, asked: int, free: int) -> str:
        """What is missing in words; of a share, what the freest device still has."""
        for number, request in enumerate(self.pod.devices):
            if request.kind == resource and request.milli < WHOLE:
                most = int(self.free_share(number)[place])
                return f"no {resource} has {request.milli} thousandths free (the freest {most})"
        return short_of(resource, asked, free)

    def free_share(self, number: int) -> npt.NDArray[np.int32]:
        """int32[k]: the largest free part of a device that one of the requests may use."""
        devices = devices_of(self.view, self.slots)
        wanted = wanted_of(self.pod, self.view, number)._replace(milli=1)
        usable = np.where(fitting(devices, wanted), devices.free, 0)
        return np.asarray(usable.max(axis=1), np.int32)

    def shortage(self) -> npt.NDArray[np.float64]:
        """float64[k]: what is missing, as shares of what is asked, summed over resources."""
        columns = self.view.columns
        total = np.zeros(len(self.slots), np.float64)
        for column, asked in scaled_asks(self.pod, self.view).items():
            if asked <= 0:
                continue
            known = column < len(columns.free)
            free = columns.free[column, self.slots] if known else np.zeros(len(self.slots))
            total += np.clip(asked - free, 0, None) / asked
        for number, request in enumerate(self.pod.devices):
            total += np.clip(request.count - self.devices_free(number), 0, None) / request.count
        return total

    def devices_free(self, number: int) -> npt.NDArray[np.int64]:
        """int64[k]: devices that would serve one of the class's requests."""
        fits = fitting(devices_of(self.view, self.slots), wanted_of(self.pod, self.view, number))
        return np.asarray(np.count_nonzero(fits, axis=1), np.int64)
