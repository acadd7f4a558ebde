"""Who meets a pod's node selector and required node affinity, and whose taints it tolerates.

Node affinity filters by it; spreading and volumes ask the same question. Each mask follows from
the nodes and a few fields of the pod alone, and is kept with the nodes.
"""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from stretto.api.types.core import Taint
from stretto.api.types.pod import Toleration
from stretto.api.wire import selectors
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.api.wire.selectors import NODE_NAME, Operator, SelectorRule
from stretto.base.errors import InputError
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import BoolArray
from stretto.state.nodes import taints

HARD: Final = frozenset({taints.NO_SCHEDULE, taints.NO_EXECUTE})
"""Effects of taints that keep a pod away."""


def required_nodes(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes that meet the selector and the required affinity."""
    return nodes.kept(("required", pod.shape.node_key), lambda: _required(pod, nodes))


def untolerated(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes with a hard taint that the pod does not tolerate."""
    return nodes.kept(("taints", pod.shape.toleration_key), lambda: _untolerated(pod, nodes))


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations bears a taint; Gt and Lt are off by default upstream."""
    return any(taints.tolerates(each, taint, compares=False) for each in tolerations)


def meets_any(terms: Iterable[NodeSelectorTerm], nodes: NodeColumns, *, names: bool) -> BoolArray:
    """bool[n]: nodes that meet one of the terms; ``names`` says whether fields are asked too."""
    mask = np.zeros(nodes.count, np.bool_)
    for term in terms:
        mask |= meets(term, nodes, names=names)
    return mask


def meets(term: NodeSelectorTerm, nodes: NodeColumns, *, names: bool = True) -> BoolArray:
    """bool[n]: nodes that meet one term; an empty or a malformed one is met by none."""
    nothing = np.zeros(nodes.count, np.bool_)
    if not term.match_expressions and not term.match_fields:
        return nothing
    try:
        compiled = selectors.node_term(term.match_expressions, term.match_fields, "term")
    except InputError:
        return nothing
    mask = nodes.holds(compiled.labels.rules)
    if names:
        for rule in compiled.fields.rules:
            mask &= _named(rule, nodes)
    return mask


def _required(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    spec = pod.pod.spec
    mask = np.ones(nodes.count, np.bool_)
    for key, value in spec.node_selector.items():
        mask &= nodes.holds((SelectorRule(key, Operator.IN, (value,)),))
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is not None and affinity.required is not None:
        mask &= meets_any(affinity.required.node_selector_terms, nodes, names=True)
    return mask


def _named(rule: SelectorRule, nodes: NodeColumns) -> BoolArray:
    """Nodes that meet a rule on the name."""
    assert rule.key == NODE_NAME
    mask = np.zeros(nodes.count, np.bool_)
    at = nodes.index.get(rule.values[0])
    if at is not None:
        mask[at] = True
    return mask if rule.operator is Operator.IN else ~mask


def _untolerated(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    borne = pod.pod.spec.tolerations
    keeps_away: Callable[[tuple[Taint, ...]], int] = lambda listed: any(
        each.effect in HARD and not tolerates(borne, each) for each in listed
    )
    away: BoolArray = nodes.taints_where(keeps_away) != 0
    return away
