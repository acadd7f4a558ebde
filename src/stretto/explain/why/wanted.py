"""Node rules in exact terms: the required label, the taint that is not tolerated.

kube-scheduler reports the same reason for every node. The texts of this module name the label or
taint. If no node matches, they list the existing values, because the usual cause is a misspelled
value.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from stretto.api.wire.selectors import NODE_NAME, NodeTerm, Operator, SelectorRule, node_terms
from stretto.base.errors import InputError, suggestion
from stretto.base.nearest import nearest
from stretto.explain.words.standing import joined
from stretto.framework.contract.rule import SlotArray
from stretto.framework.plugins import node_affinity, node_unschedulable, taints
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from stretto.state.nodes.taints import untolerated

LISTED: Final = 5
"""Maximum number of listed values of a label; of more values, the most similar are suggested."""


def node_reason(reason: str, pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """Reason in terms of one node; the reason itself if nothing more specific is known."""
    specific = _EXACT[reason](pod, nodes, slot) if reason in _EXACT else ""
    return specific or reason


def unmatched_terms(pod: PodClass, nodes: NodeFacts, slots: SlotArray) -> list[str]:
    """Label and name rules of a pod that no node matches, with the existing values.

    If each rule matches a node but no node matches all rules, one text names all rules.
    """
    selector, terms = _rules(pod)
    wanted = [*selector, *(_of_term(terms[0]) if len(terms) == 1 else ())]
    found = [text for rule in wanted if (text := _nowhere(rule, nodes, slots))]
    if not found and len(wanted) > 1 and len(terms) < 2:
        return [f"no node matches all of {joined([str(rule) for rule in wanted], 'and')}"]
    return found


def untolerated_taints(pod: PodClass, nodes: NodeFacts, slot: int) -> tuple[str, ...]:
    """The taints of a node that refuse the pod, as ``key=value:effect``."""
    number = int(nodes.taints_by(pod.annotations.launcher)[slot])
    return tuple(
        f"{taint.key}{f'={taint.value}' * bool(taint.value)}:{taint.effect}"
        for taint in nodes.taint_sets[number]
        if untolerated((taint,), pod.spec.tolerations, taints.HARD)
    )


# ---------------------------------------------------------------- one node


def _labels(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """Rules that a node does not match; of alternative terms, the closest one."""
    selector, terms = _rules(pod)
    facts = {**nodes.labels.of(slot), NODE_NAME: nodes.names[slot]}
    unmet = [rule for rule in selector if not rule.holds(facts)]
    alternatives = [[r for r in _of_term(term) if not r.holds(facts)] for term in terms]
    closest: list[SelectorRule] = min(alternatives, key=len, default=[])
    missed = (*unmet, *closest)
    return "; ".join(f"requires {rule}, has {_present(rule.key, facts)}" for rule in missed)


def _present(key: str, facts: Mapping[str, str]) -> str:
    """Value of a label on a node, as text."""
    return f"{key}={facts[key]}" if key in facts else f"no {key}"


def _taints(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """Text about the taints that the pod does not tolerate."""
    refused = untolerated_taints(pod, nodes, slot)
    return f"does not tolerate {', '.join(refused)}" if refused else ""


def _cordon(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    del pod
    return "the node is cordoned" if nodes.unschedulable[slot] else ""


_EXACT: Final[Mapping[str, Callable[[PodClass, NodeFacts, int], str]]] = {
    node_affinity.REASON: _labels,
    taints.REASON: _taints,
    node_unschedulable.REASON: _cordon,
}
"""More specific text by reason."""


# ---------------------------------------------------------------- all nodes


def _nowhere(rule: SelectorRule, nodes: NodeFacts, slots: SlotArray) -> str:
    """Text for a rule that no node matches, with existing values; empty if a node matches it."""
    if rule.key == NODE_NAME:
        names = [nodes.names[slot] for slot in slots.tolist()]
        if rule.operator is not Operator.IN or not set(names).isdisjoint(rule.values):
            return ""
        return f"no node is named {rule.values[0]}{_alternatives_text(rule, names)}"
    if nodes.labels.holds(rule, slots).any():
        return ""
    pairs = np.unique(nodes.labels.column(rule.key)[slots])
    values = [nodes.labels.pair_value(pair) for pair in pairs.tolist() if pair]
    if not values:
        return f"no node has the label {rule.key}"
    few = len(values) <= LISTED
    there = (
        f" (existing values: {', '.join(sorted(values))})"
        if few
        else _alternatives_text(rule, values)
    )
    return f"no node has {rule}{there}"


def _alternatives_text(rule: SelectorRule, values: list[str]) -> str:
    found = nearest(rule.values[0], values) if rule.values else []
    return f" ({suggestion(found)})" if found else ""


def _rules(pod: PodClass) -> tuple[list[SelectorRule], tuple[NodeTerm, ...]]:
    """The pod's ``nodeSelector`` as rules, and the alternative terms of its node affinity."""
    selector = [
        SelectorRule(key, Operator.IN, (value,)) for key, value in pod.spec.node_selector.items()
    ]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    try:
        return selector, node_terms(affinity.required if affinity else None, "affinity")
    except InputError:  # the affinity rule reports the error itself
        return selector, ()


def _of_term(term: NodeTerm) -> Iterator[SelectorRule]:
    yield from term.labels.rules
    yield from term.fields.rules
