"""kube-scheduler's scheduling cycle over a snapshot, with every node evaluated.

``decide`` returns kube-scheduler's decision about a pod; ``assume`` counts the pod on a node and
uses its volumes there.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from stretto.api.types.pod import Pod
from stretto.framework.model import messages
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SUCCESS,
    IntArray,
    PluginStatus,
    StatusCode,
    unresolvable,
)
from stretto.framework.parity.decision import Decision, FilterResult, PostFilterResult
from stretto.framework.parity.filtering import run_filters
from stretto.framework.parity.preemption import NO_LIMITS, PreemptionLimits, preempt
from stretto.framework.plugins.parity import dynamic_resources, scheduling_gates
from stretto.framework.plugins.table import PARITY_FILTERS, PARITY_SCORES
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, VolumeBinder, VolumeDecision

WEIGHTS: Final = {plugin.NAME: plugin.WEIGHT for plugin in PARITY_SCORES}
"""Weights of the scores."""
_NOTHING: Final[IntArray] = np.zeros(0, np.int64)


class ExactScheduler:
    """Decides one pod after the other."""

    def __init__(self, snapshot: ParitySnapshot) -> None:
        """Decide over the cluster of a snapshot."""
        self.snapshot = snapshot
        self._limits = NO_LIMITS

    def limit(
        self, allowed: Mapping[tuple[str, str], int], spared: Callable[[SchedulingFacts], bool]
    ) -> None:
        """Limit preemption: disruptions that budgets allow, and protected pods."""
        self._limits = PreemptionLimits(allowed, spared)

    def decide(self, pod: Pod, *, thorough: bool = False, may_preempt: bool = True) -> Decision:
        """kube-scheduler's decision about a pod.

        Args:
            pod: the pod.
            thorough: also run the plugins after one that ended the cycle.
            may_preempt: try preemption if no node is feasible.
        """
        facts = self.snapshot.compiler.facts(pod)
        return self.decide_facts(facts, thorough=thorough, may_preempt=may_preempt)

    def decide_facts(
        self, facts: SchedulingFacts, *, thorough: bool = False, may_preempt: bool = True
    ) -> Decision:
        """``decide`` for a pod whose facts are known."""
        gated = scheduling_gates.preenqueue(facts)
        if gated.code is not StatusCode.SUCCESS:
            return self._nowhere(facts, gated, None, gated.message)
        if not self.snapshot.nodes.count:
            return self._nowhere(facts, SUCCESS, None, messages.NO_NODES)
        filtered = run_filters(facts, self.snapshot, thorough=thorough)
        if error := filtered.error():
            return self._nowhere(facts, SUCCESS, filtered, error)
        feasible = np.flatnonzero(filtered.feasible)
        if not len(feasible):
            return self._failed(facts, filtered, may_preempt=may_preempt)
        return self._scored(facts, filtered, feasible)

    def assume(self, decision: Decision, node: str) -> VolumeDecision:
        """Count a decided pod on a node and bind its volumes; return the volumes."""
        pod, objects = decision.pod, self.snapshot.objects
        found = NOTHING_TO_DO
        if pod.shape.pvcs:
            found = VolumeBinder.of(pod, self.snapshot).find(self.snapshot.nodes.index[node])
            for volume, pvc in found.taken:
                objects.take(volume, pvc)
            for pvc in found.made:
                objects.select_node(pvc, node)
        self.snapshot.assume(pod, node)
        return found

    def _scored(self, pod: SchedulingFacts, filtered: FilterResult, feasible: IntArray) -> Decision:
        scores: dict[str, IntArray] = {}
        skipped = []
        total = np.zeros(len(feasible), np.int64)
        for plugin in PARITY_SCORES:
            score = plugin.score(pod, self.snapshot, feasible)
            if score is None:
                skipped.append(plugin.NAME)
                continue
            scores[plugin.NAME] = score
            total += plugin.WEIGHT * score
        return Decision(
            pod,
            self.snapshot.nodes.names,
            SUCCESS,
            filtered,
            feasible,
            scores,
            tuple(skipped),
            total,
            "",
            None,
        )

    def _failed(
        self, pod: SchedulingFacts, filtered: FilterResult, *, may_preempt: bool
    ) -> Decision:
        """Decision without a feasible node: the message, and the result of preemption."""
        sentence = self._sentence(filtered)
        if not may_preempt:
            return self._nowhere(pod, SUCCESS, filtered, sentence)
        preemption = self._post_filter(pod, filtered)
        message = messages.with_preemption(sentence, preemption.message)
        return self._nowhere(pod, SUCCESS, filtered, message)._replace(preemption=preemption)

    def _post_filter(self, pod: SchedulingFacts, filtered: FilterResult) -> PostFilterResult:
        """PostFilter: DynamicResources runs first, and fails without its own state."""
        if filtered.ended_by and _precedes_resources(filtered.ended_by):
            return PostFilterResult(PluginStatus(StatusCode.ERROR, (dynamic_resources.NO_STATE,)))
        found = preempt(pod, self.snapshot, filtered, self._limits)
        if found.status.code is not StatusCode.UNSCHEDULABLE:
            return found
        said = (dynamic_resources.NOTHING_TO_FREE, *found.status.reasons)
        return found._replace(status=PluginStatus(StatusCode.UNSCHEDULABLE, said))

    def _sentence(self, filtered: FilterResult) -> str:
        """The filter part of the message."""
        count = self.snapshot.nodes.count
        if filtered.ended_by:
            ended = filtered.prefilter[filtered.ended_by]
            return f"{messages.head(count)} {ended.message}."
        absent = SUCCESS
        if filtered.narrowed_by:
            listed = " ".join(filtered.narrowed_by)
            absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{listed}]")
        statuses = ((status, len(nodes)) for _, status, nodes in filtered.refusals())
        return messages.fit_error(count, statuses, absent)

    def _nowhere(
        self,
        pod: SchedulingFacts,
        preenqueue: PluginStatus,
        filtered: FilterResult | None,
        message: str,
    ) -> Decision:
        names = self.snapshot.nodes.names
        return Decision(pod, names, preenqueue, filtered, _NOTHING, {}, (), _NOTHING, message, None)


def _precedes_resources(name: str) -> bool:
    """Return whether a plugin runs before DynamicResources."""
    order = [plugin.NAME for plugin in PARITY_FILTERS]
    return order.index(name) < order.index(dynamic_resources.DynamicResourcesPlugin.NAME)
