"""Masks over nodes: required node affinity, untolerated taints, node selector terms.

Topology spread and volumes use them. Each mask depends on the nodes and a few fields of the pod
alone, and is cached with the nodes.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from stretto.api.types.core import Taint
from stretto.api.wire import selectors
from stretto.api.wire.meta import NodeSelectorTerm
from stretto.base.errors import InputError
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import BoolArray
from stretto.state.nodes import taints

HARD: Final = (taints.NO_SCHEDULE, taints.NO_EXECUTE)
"""Effects of taints that reject pods."""


def required_nodes(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes that match the selector and the required affinity."""
    return nodes.kept(("required", pod.shape.node_key), lambda: _required(pod, nodes))


def untolerated(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    """bool[n]: nodes with a hard taint that the pod does not tolerate."""
    return nodes.kept(("taints", pod.shape.toleration_key), lambda: _untolerated(pod, nodes))


def meets_any(terms: Iterable[NodeSelectorTerm], nodes: NodeColumns, *, names: bool) -> BoolArray:
    """bool[n]: nodes that match one of the terms.

    No node matches an empty or malformed term. If ``names`` is false, ``matchFields`` is ignored,
    and every node matches a term with no other content.
    """
    mask = np.zeros(nodes.count, np.bool_)
    for term in terms:
        if not term.match_expressions and not term.match_fields:
            continue
        try:
            compiled = selectors.node_term(term.match_expressions, term.match_fields, "term")
        except InputError:
            continue
        if names:
            mask |= nodes.facts.matches_term(compiled, nodes.everywhere)
        else:
            mask |= nodes.holds(compiled.labels.rules)
    return mask


def _required(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    spec = pod.pod.spec
    mask = np.ones(nodes.count, np.bool_)
    for key, value in spec.node_selector.items():
        mask &= nodes.labels.equal(key, value, nodes.everywhere)
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is not None and affinity.required is not None:
        mask &= meets_any(affinity.required.node_selector_terms, nodes, names=True)
    return mask


def _untolerated(pod: SchedulingFacts, nodes: NodeColumns) -> BoolArray:
    """Number of untolerated hard taints; Gt and Lt are ignored, as by default in kube-scheduler."""
    tolerations = pod.pod.spec.tolerations

    def refused(taint: Taint) -> bool:
        return taint.effect in HARD and not any(
            taints.tolerates(each, taint, compares=False) for each in tolerations
        )

    mask: BoolArray = nodes.taints_where(lambda listed: any(map(refused, listed))) != 0
    return mask
