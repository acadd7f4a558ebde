"""NodeAffinity: node selector and required affinity filter, preferred affinity scores.

Where every required term names nodes by ``matchFields``, the plugin says so before any node is
looked at, and the others are never asked; terms that name no common node end the cycle.
"""

from typing import ClassVar, Final

import numpy as np

from stretto.api.wire.meta import NodeSelectorTerm
from stretto.framework.model.eligible import meets, required_nodes
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import at, by_maximum
from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck, ScorePlugin
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SKIP, IntArray, PluginStatus, refuse, unresolvable

NAME: Final = "NodeAffinity"
REFUSED: Final = unresolvable("node(s) didn't match Pod's node affinity/selector")
CONFLICT: Final = unresolvable("pod affinity terms conflict")
NODE_NAME: Final = "metadata.name"


class NodeAffinityPlugin(FilterPlugin, ScorePlugin):
    """Refuses nodes outside the required terms, counts the preferred ones."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 2

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Nodes that do not match."""
        spec = pod.pod.spec
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required if affinity is not None else None
        if required is None and not spec.node_selector:
            return SKIP
        only = None if required is None else named(required.node_selector_terms)
        if only is not None and not only:
            return CONFLICT
        return FixedCheck(refuse(~required_nodes(pod, snapshot.nodes), REFUSED), only)

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """The sum of the weights of the preferred terms that a node meets."""
        if not pod.shape.preferred_key:
            return None
        nodes = snapshot.nodes
        key = ("preferred", pod.shape.preferred_key)
        return by_maximum(at(nodes.kept(key, lambda: _weights(pod, nodes)), feasible))


def named(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """Nodes that the terms name; None where one of them names none."""
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


def _weights(pod: SchedulingFacts, nodes: NodeColumns) -> IntArray:
    """int64[n]: weights of the preferred terms that each node meets."""
    affinity = pod.pod.spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    total = np.zeros(nodes.count, np.int64)
    for each in affinity.node_affinity.preferred:
        total += each.weight * meets(each.preference, nodes)
    return total
