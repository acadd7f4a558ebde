"""NodeAffinity under kube-parity: the shared filter; preferred terms relative to the best node."""

from stretto.api.wire.meta import NodeSelectorTerm
from stretto.api.wire.selectors import NODE_NAME
from stretto.framework.contract.rule import (
    Fail,
    NodeScores,
    Restrict,
    ScorePlugin,
    View,
)
from stretto.framework.contract.shared import SharedFilter, view_of
from stretto.framework.model.normalise import at, by_maximum
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.plugins.node_affinity import REASON_CONFLICT, NodeAffinityRule
from stretto.state.classes.table import PodClass


class UpstreamAffinity(NodeAffinityRule):
    """The rule with upstream's PreFilter, which also reads the names of malformed terms.

    Upstream reports no malformed term: no node matches it.
    """

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """Restrict to the named nodes if every required term names some."""
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        required = affinity.required if affinity is not None else None
        only = None if required is None else named(required.node_selector_terms)
        if only is None:
            return None
        return Restrict(view.nodes.slots_named(only), only) if only else Fail(REASON_CONFLICT)


class NodeAffinityPlugin(SharedFilter, ScorePlugin, rule=UpstreamAffinity):
    """Shares the filter; scales the sums of preferred weights by the largest."""

    rule: UpstreamAffinity

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """Scores: sum of the weights of the preferred terms that a node matches."""
        if not pod.shape.preferred_key:
            return None
        pod_class, nodes = pod.as_class, snapshot.nodes
        met = nodes.kept(
            (self.NAME, "score", pod.shape.preferred_key),
            lambda: self.rule.weights_met(pod_class, view_of(nodes), nodes.everywhere),
        )
        return by_maximum(at(met, feasible))


def named(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """Nodes that the terms name; ``None`` if one of the terms names none."""
    names: frozenset[str] = frozenset()
    for term in terms:
        mine: frozenset[str] | None = None
        for rule in term.match_fields:
            if rule.key == NODE_NAME and rule.operator == "In":
                values = frozenset(rule.values)
                mine = values if mine is None else mine & values
        if mine is None:
            return None
        names |= mine
    return names if terms else None
