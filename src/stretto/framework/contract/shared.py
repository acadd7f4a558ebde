"""Rules that kube-parity runs unchanged: static rules, evaluated on the nodes of a parity snapshot.

A snapshot stores its nodes as ``NodeFacts`` by position, so positions serve as slots. Results
depend on the signature and the nodes alone, and are cached until a node changes.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.rule import (
    Fail,
    FilterPlugin,
    FilterRule,
    FixedCheck,
    NodeCheck,
    NodeScores,
    Refusal,
    ScorePlugin,
    ScoreRule,
    View,
)
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import at
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import (
    SKIP,
    SUCCESS,
    NodeStatuses,
    PluginStatus,
    StatusCode,
    unresolvable,
)
from stretto.state.classes.table import PodClass
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.snapshot import Columns

_NO_COLUMNS: Final = Columns(Ledger())
"""Amounts, ports and devices: static rules do not read them."""


class SharedFilter(FilterPlugin):
    """Calls a static filter rule whose verdict and reasons are kube-scheduler's."""

    #: The rule.
    RULE: ClassVar[type[FilterRule]]

    def __init_subclass__(cls, rule: type[FilterRule] | None = None, **more: Any) -> None:
        """Set the rule; this form copies its declarations."""
        super().__init_subclass__(declares=rule, **more)
        if rule is not None:
            cls.RULE = rule

    def __init__(self) -> None:
        """Create the rule without arguments: kube-parity has none."""
        #: Instance of the rule.
        self.rule = self.RULE({})

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """The rule's refusals as statuses; skipped if the rule does not apply to the pod."""
        pod_class = pod.as_class
        signature = self.rule.filter_signature(pod_class)
        if signature is None:
            return SKIP if self.PREFILTERS else FixedCheck(None)
        nodes = snapshot.nodes
        return nodes.kept((self.NAME, signature), lambda: self._check(pod_class, nodes))

    def _check(self, pod: PodClass, nodes: NodeColumns) -> NodeCheck | PluginStatus:
        view, only = view_of(nodes), None
        if self.PREFILTERS:
            answer = self.rule.prepare(pod, view)
            if isinstance(answer, Fail):
                return unresolvable(answer.reason)
            if answer is not None:
                here = (nodes.names[slot] for slot in answer.slots.tolist())
                only = frozenset(here) if answer.names is None else answer.names
        refusals = self.rule.refusals(pod, view, nodes.everywhere)
        return FixedCheck(statuses_of(refusals, nodes.count), only)


class SharedScore(ScorePlugin):
    """Calls a static score rule whose values, including normalisation, are kube-scheduler's."""

    #: The rule.
    RULE: ClassVar[type[ScoreRule]]

    def __init_subclass__(cls, rule: type[ScoreRule] | None = None, **more: Any) -> None:
        """Set the rule; this form copies its declarations."""
        super().__init_subclass__(declares=rule, **more)
        if rule is not None:
            cls.RULE = rule

    def __init__(self) -> None:
        """Create the rule without arguments: kube-parity has none."""
        self._rule = self.RULE({})

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """int64[k]: the rule's scores; ``None`` if it does not apply to the pod."""
        pod_class, nodes = pod.as_class, snapshot.nodes
        signature = self._rule.score_signature(pod_class)
        if signature is None:
            return None

        def scores() -> NodeScores:
            found = self._rule.score(pod_class, view_of(nodes), nodes.everywhere)
            return found.astype(np.int64)

        return at(nodes.kept((self.NAME, "score", signature), scores), feasible)


def shared_filter(rule: type[FilterRule]) -> type[SharedFilter]:
    """Form of a rule of which kube-parity needs only the filter."""
    return type(f"Shared{rule.__name__}", (SharedFilter,), {}, rule=rule)


def shared_score(rule: type[ScoreRule]) -> type[SharedScore]:
    """Form of a rule of which kube-parity needs only the score."""
    return type(f"Shared{rule.__name__}", (SharedScore,), {}, rule=rule)


def view_of(nodes: NodeColumns) -> View:
    """View of the nodes of a parity snapshot, in the form that rules read."""
    return View(_NO_COLUMNS, nodes.facts)


def statuses_of(refusals: Sequence[Refusal], size: int) -> NodeStatuses | None:
    """One status per node with all of its reasons; unresolvable if one of the reasons is."""
    if not refusals:
        return None
    which = np.zeros(size, np.int64)
    for bit, each in enumerate(refusals):
        which |= each.mask.astype(np.int64) << bit

    def status_of(bits: int) -> PluginStatus:
        found = [each for bit, each in enumerate(refusals) if bits >> bit & 1]
        if not found:
            return SUCCESS
        is_final = not all(each.resolvable for each in found)
        code = StatusCode.UNRESOLVABLE if is_final else StatusCode.UNSCHEDULABLE
        return PluginStatus(code, tuple(each.reason for each in found))

    refused = which != 0
    return NodeStatuses(refused, which, status_of) if refused.any() else None
