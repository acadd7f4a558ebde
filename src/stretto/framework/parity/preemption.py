"""DefaultPreemption: finds the node on which evicting pods of lower priority makes a pod feasible.

This is exactly upstream's search. It considers the nodes whose first rejection is resolvable,
removes all pods of lower priority and adds them back one by one: first those that a
PodDisruptionBudget protects, the most important first. The best node has the fewest violations, the
lowest top priority, the smallest sum of priorities, the fewest victims, and the latest start.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from stretto.api.types.core import PodDisruptionBudget
from stretto.api.wire import selectors
from stretto.api.wire.selectors import Selector
from stretto.base.errors import InputError
from stretto.framework.contract.rule import NodeDryRun
from stretto.framework.model.messages import fit_error
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SUCCESS,
    PluginStatus,
    StatusCode,
    unresolvable,
    unschedulable,
)
from stretto.framework.parity.decision import (
    FilterResult,
    PostFilterResult,
    PreemptionCandidate,
    equally_good,
)
from stretto.state.objects import Key

NAME: Final = "DefaultPreemption"
NEVER: Final = "not eligible due to preemptionPolicy=Never."
NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
NO_HELP: Final = unresolvable("Preemption is not helpful for scheduling")
Budget = tuple[PodDisruptionBudget, Selector, int]
"""A budget, the selector of its pods, and the evictions that it still allows."""


class PreemptionLimits(NamedTuple):
    """Limits of the search, besides the snapshot."""

    #: Disruptions that budgets allow; overrides their status.
    allowed: Mapping[Key, int] = {}
    #: Pods that must not be evicted.
    spared: Callable[[SchedulingFacts], bool] = lambda _pod: False


NO_LIMITS: Final = PreemptionLimits()
"""Budgets by their status; every pod may be evicted."""


def preempt(
    pod: SchedulingFacts,
    snapshot: ParitySnapshot,
    filtered: FilterResult,
    terms: PreemptionLimits = NO_LIMITS,
) -> PostFilterResult:
    """Find a node on which evictions make the pod feasible."""
    if pod.pod.spec.preemption_policy == "Never":
        return PostFilterResult(_failed(NEVER))
    rejected: dict[str, PluginStatus] = {}
    candidates: list[PreemptionCandidate] = []
    budgets = _budgets(snapshot, terms.allowed)
    ahead = snapshot.ahead_of(pod) if snapshot.nominated else {}
    for node in _resolvable_nodes(filtered):
        rehearsal = NodeVictimSelection(pod, snapshot, filtered, node)
        rehearsal.respect(terms.spared, ahead.get(node, ()))
        found = rehearsal.victims(budgets)
        if isinstance(found, PreemptionCandidate):
            candidates.append(found)
        else:
            rejected[snapshot.nodes.names[node]] = found
    if not candidates:
        return PostFilterResult(_no_candidate(snapshot.nodes.count, rejected), rejected=rejected)
    candidates.sort(key=lambda each: each.node)
    tied = equally_good(candidates)
    names = tuple(each.node for each in tied) if len(tied) > 1 else ()
    return PostFilterResult(SUCCESS, tuple(candidates), rejected, tied[0], names)


def _resolvable_nodes(filtered: FilterResult) -> list[int]:
    """Nodes whose first rejection is resolvable."""
    groups = filtered.refusals()
    curable = (nodes.tolist() for _, s, nodes in groups if s.code is StatusCode.UNSCHEDULABLE)
    return sorted(chain.from_iterable(curable))


class NodeVictimSelection:
    """The search for victims on one node, with a dry run of every filter."""

    def __init__(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, filtered: FilterResult, node: int
    ) -> None:
        """Start with all pods on the node."""
        self._name = snapshot.nodes.names[node]
        #: Pods of lower priority, in the node's order.
        self.lower = [each for each in snapshot.pods_on[node] if each.priority < pod.priority]
        checks = filtered.checks.values() if self.lower else ()
        self._trials: list[NodeDryRun] = [each.trial(node) for each in checks]
        self._ahead: Sequence[SchedulingFacts] = ()

    def respect(
        self, spared: Callable[[SchedulingFacts], bool], ahead: Sequence[SchedulingFacts]
    ) -> None:
        """Exclude some pods from eviction, and count the node's nominated pods."""
        self.lower = [each for each in self.lower if not spared(each)]
        self._ahead = ahead

    def victims(self, budgets: Sequence[Budget]) -> PreemptionCandidate | PluginStatus:
        """Victims of upstream's greedy search, or the reason why evictions do not help."""
        if not self.lower:
            return NO_VICTIMS
        for each in self.lower:
            self._remove(each)
        status = self._status()
        if status.code is not StatusCode.SUCCESS:
            return status
        ordered = sorted(self.lower, key=_importance)
        protected, free = split_by_budget(ordered, budgets)
        violating = [each for each in protected if not self._spare(each)]
        chosen = violating + [each for each in free if not self._spare(each)]
        if not chosen:
            reason = f'expected at least one victim pod on node "{self._name}"'
            return PluginStatus(StatusCode.ERROR, (reason,))
        if protected and free:
            chosen.sort(key=_importance)
        return PreemptionCandidate(self._name, tuple(chosen), len(violating))

    def _spare(self, pod: SchedulingFacts) -> bool:
        """Add a pod back; remove it again if the node becomes infeasible."""
        for trial in self._trials:
            trial.add(pod)
        if self._status().code is StatusCode.SUCCESS:
            return True
        self._remove(pod)
        return False

    def _remove(self, pod: SchedulingFacts) -> None:
        for trial in self._trials:
            trial.remove(pod)

    def _status(self) -> PluginStatus:
        """The first rejection, with the nominated pods and without them."""
        if self._ahead:
            for trial in self._trials:
                for each in self._ahead:
                    trial.add(each)
            status = self._first_refusal()
            for trial in self._trials:
                for each in self._ahead:
                    trial.remove(each)
            if status.code is not StatusCode.SUCCESS:
                return status
        return self._first_refusal()

    def _first_refusal(self) -> PluginStatus:
        for trial in self._trials:
            status = trial.status()
            if status.code is not StatusCode.SUCCESS:
                return status
        return SUCCESS


def split_by_budget(
    pods: Iterable[SchedulingFacts], budgets: Sequence[Budget]
) -> tuple[list[SchedulingFacts], list[SchedulingFacts]]:
    """Pods whose eviction violates a budget, and the others; each pod consumes its budgets."""
    left = [allowed for _, _, allowed in budgets]
    protected: list[SchedulingFacts] = []
    free: list[SchedulingFacts] = []
    for pod in pods:
        violated = False
        for at, (budget, selector, _) in enumerate(budgets):
            if not pod.labels or budget.metadata.namespace != pod.namespace:
                continue
            _, name, _ = pod.key
            if name in budget.status.disrupted_pods or not selector.matches(pod.labels):
                continue
            left[at] -= 1
            violated = violated or left[at] < 0
        (protected if violated else free).append(pod)
    return protected, free


def _budgets(snapshot: ParitySnapshot, allowed: Mapping[Key, int]) -> list[Budget]:
    """Budgets with their selectors; an empty selector matches no pod here."""
    found = []
    for key, budget in snapshot.objects.budgets.items():
        try:
            selector = selectors.label_selector(budget.spec.selector, "selector")
        except InputError:
            continue  # the API server accepts none of these
        if selector.rules:
            left = allowed.get(key, budget.status.disruptions_allowed)
            found.append((budget, selector, left))
    return found


def _importance(pod: SchedulingFacts) -> tuple[int, int]:
    """Sort key that is smaller for pods of higher priority, then for pods that started earlier."""
    return (-pod.priority, pod.start)


def _no_candidate(count: int, rejected: dict[str, PluginStatus]) -> PluginStatus:
    errors = [each.message for each in rejected.values() if each.code is StatusCode.ERROR]
    if errors:
        return PluginStatus(StatusCode.ERROR, (errors[0],))
    return _failed(fit_error(count, ((each, 1) for each in rejected.values()), NO_HELP))


def _failed(why: str) -> PluginStatus:
    return unschedulable(f"preemption: {why}")
