"""Filters with a Python form, evaluated on the nodes without the victims.

These are the filters of plugin authors, ``LoadAware``, and the rules that pods choose. If they
accept a node at present, it is searched like any other node, and its victims are checked
afterwards. If they refuse a node at present but accept it without all pods of lower priority, it is
simulated.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.one_node import Holds, Preemptor
from stretto.framework.contract.rule import FilterRule, Refusal, View
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.preemption.nodes_without import NodesWithout, PromisedClaim
from stretto.framework.preemption.other_pods import PreemptorRules, PromisedCandidate
from stretto.state.classes.table import PodClass
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.snapshot import Columns

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class CustomVerdict(NamedTuple):
    """Results of the filters for the nodes that other rules admit."""

    #: bool[slot]: nodes that they accept at present.
    open: Mask
    #: bool[slot]: nodes that they accept only without all pods of lower priority.
    later: Mask
    #: Predicate (slot, rows): the filters accept the slot without these rows.
    holds: Holds


class CustomFilters:
    """The filters of a profile with a Python form."""

    def __init__(self, engine: CompiledProfile) -> None:
        """Use the filters of a compiled profile."""
        self._cluster = engine.cluster
        self._filters = engine.profile.python_filters
        self._chosen = engine.profile.chosen
        self._has_counts = engine.python_rules.over_domains

    def concern(self, class_id: int) -> bool:
        """Return whether any of them applies to a class."""
        pod = self._cluster.classes[class_id]
        if self._chosen is not None and self._chosen.applies_to(pod):
            return True
        return bool(self._rules_of(pod))

    def judge(
        self,
        preemptor: Preemptor,
        admitted: Mask,
        view: View,
        promises: tuple[PreemptorRules, Sequence[PromisedCandidate]],
    ) -> CustomVerdict | None:
        """Evaluate the filters for a preemptor; ``None`` if they do not apply to it.

        Args:
            preemptor: the pod.
            admitted: bool[slot]: the nodes that other rules admit.
            view: the snapshot, with the claims of the cycle.
            promises: other pods, and the promises of the cycle.
        """
        class_id = preemptor.class_id
        if not self.concern(class_id):
            return None
        (others, taken), pod = promises, self._cluster.classes[class_id]
        gone = {row for each in taken for row in each.candidate.evicted_pods}
        nodes = NodesWithout(self._cluster, view)
        nodes.remove(np.array(sorted(gone), np.int64))
        nodes.claim(
            [PromisedClaim(t.class_id, t.candidate.slot, t.candidate.devices) for t in taken]
        )

        def counts(rows: Collection[int]) -> AbstractContextManager[None]:
            return others.without(class_id, taken, rows) if self._has_counts else nullcontext()

        def passes(slots: Ints, rows: Ints) -> Mask:
            rows = rows[~np.isin(rows, list(gone))] if gone else rows
            with nodes.without(rows), counts(rows.tolist()):
                return self._passes(pod, nodes.view, slots)

        nothing = np.zeros(0, np.int64)
        at_present, later = np.zeros(len(admitted), np.bool_), np.zeros(len(admitted), np.bool_)
        slots = np.flatnonzero(admitted)
        at_present[slots] = passes(slots, nothing)
        refused = np.flatnonzero(admitted & ~at_present)
        if len(refused):
            later[refused] = passes(refused, self._lower_rows(refused, preemptor.priority))

        def holds(slot: int, rows: Collection[int]) -> bool:
            index = np.fromiter(rows, np.int64, len(rows))
            return bool(passes(np.array([slot], np.int64), index)[0])

        return CustomVerdict(at_present, later, holds)

    def _lower_rows(self, slots: Ints, priority: int) -> Ints:
        """int64[k]: rows below a priority on some slots."""
        pods = self._cluster.pods
        where, count = pods.slot[: pods.length], len(self._cluster.ledger.slots.live)
        among = np.zeros(count + 1, np.bool_)  # the last entry belongs to pods without a node
        among[slots] = True
        here = among[np.where(where == NO_SLOT, count, where)]
        return np.flatnonzero(here & (pods.priority[: pods.length] < priority))

    def refusals_without_lower(
        self, preemptor: Preemptor, view: View, slots: Ints
    ) -> list[Refusal]:
        """Reasons for which they refuse a preemptor on slots without all pods of lower priority."""
        pod, nodes = self._cluster.classes[preemptor.class_id], NodesWithout(self._cluster, view)
        nodes.remove(self._lower_rows(slots, preemptor.priority))
        rules = self._rules_of(pod)
        return [each for rule in rules for each in rule.refusals(pod, nodes.view, slots)]

    def _rules_of(self, pod: PodClass) -> list[FilterRule]:
        return [rule for rule in self._filters if rule.filter_signature(pod) is not None]

    def _passes(self, pod: PodClass, view: View, slots: Ints) -> Mask:
        """bool[k]: true where every filter accepts."""
        found = np.ones(len(slots), np.bool_)
        for rule in self._rules_of(pod):
            found &= rule.filter(pod, view, slots)
        if self._chosen is not None and self._chosen.applies_to(pod):
            found &= self._chosen.slot_values(pod, view, slots) >= 0
        return found


def refusals_without_lower(
    engine: CompiledProfile, preemptor: Preemptor, slots: Ints
) -> list[Refusal]:
    """Reasons for which the filters refuse a preemptor even without all pods of lower priority."""
    custom = CustomFilters(engine)
    if not len(slots) or not custom.concern(preemptor.class_id):
        return []
    columns = Columns(engine.cluster.ledger)
    columns.sync()
    view = View(columns, engine.cluster.nodes, engine.typical, engine.look())
    return custom.refusals_without_lower(preemptor, view, slots)
