"""Rules on nodes in exact words: which label is wanted, and which taint is not borne.

kube-scheduler says the same of every node. Whoever has to act needs the label or the taint by name,
and where no node has what is wanted, what they have instead: mostly a value is misspelt.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from stretto.api.wire.selectors import NODE_NAME, NodeTerm, Operator, SelectorRule, node_terms
from stretto.base.errors import InputError
from stretto.explain.words.nearest import nearest
from stretto.framework.contract.rule import SlotArray
from stretto.framework.plugins import node_affinity, node_unschedulable, taints
from stretto.state.classes.table import PodClass
from stretto.state.nodes.table import NodeFacts
from stretto.state.nodes.taints import untolerated

LISTED: Final = 5
"""Values of a label that are listed; of more the nearest are named."""


def node_reason(reason: str, pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """A reason as it is on one node; the reason itself where no more is known."""
    said = _EXACT[reason](pod, nodes, slot) if reason in _EXACT else ""
    return said or reason


def unmatched_terms(pod: PodClass, nodes: NodeFacts, slots: SlotArray) -> list[str]:
    """What a pod wants of a node's labels and name that no node has, with what there is."""
    selector, terms = _rules(pod)
    wanted = [*selector, *(_of_term(terms[0]) if len(terms) == 1 else ())]
    return [text for rule in wanted if (text := _nowhere(rule, nodes, slots))]


# ---------------------------------------------------------------- one node


def _labels(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """The rules that a node does not meet; of alternatives, those of the closest."""
    selector, terms = _rules(pod)
    facts = {**nodes.labels.of(slot), NODE_NAME: nodes.names[slot]}
    unmet = [rule for rule in selector if not rule.holds(facts)]
    alternatives = [[r for r in _of_term(term) if not r.holds(facts)] for term in terms]
    closest: list[SelectorRule] = min(alternatives, key=len, default=[])
    missed = (*unmet, *closest)
    return ", ".join(f"wants {rule} and has {facts.get(rule.key, 'none')}" for rule in missed)


def _taints(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    """The taints that the pod does not bear."""
    number = int(nodes.taints_by(pod.annotations.launcher)[slot])
    refused = [
        f"{taint.key}{f'={taint.value}' * bool(taint.value)}:{taint.effect}"
        for taint in nodes.taint_sets[number]
        if untolerated((taint,), pod.spec.tolerations, taints.HARD)
    ]
    return f"does not tolerate {', '.join(refused)}" if refused else ""


def _cordon(pod: PodClass, nodes: NodeFacts, slot: int) -> str:
    del pod
    return "the node is cordoned" if nodes.unschedulable[slot] else ""


_EXACT: Final[Mapping[str, Callable[[PodClass, NodeFacts, int], str]]] = {
    node_affinity.REASON: _labels,
    taints.REASON: _taints,
    node_unschedulable.REASON: _cordon,
}
"""Who says more than a reason's own text."""


# ---------------------------------------------------------------- all nodes


def _nowhere(rule: SelectorRule, nodes: NodeFacts, slots: SlotArray) -> str:
    """That no node meets a rule, with what they have; empty where one does."""
    if rule.key == NODE_NAME:
        names = [nodes.names[slot] for slot in slots.tolist()]
        if rule.operator is not Operator.IN or not set(names).isdisjoint(rule.values):
            return ""
        return f"no node is called {rule.values[0]}{_alternatives_text(rule, names)}"
    if nodes.labels.holds(rule, slots).any():
        return ""
    pairs = np.unique(nodes.labels.column(rule.key)[slots])
    values = [nodes.labels.pair_value(pair) for pair in pairs.tolist() if pair]
    if not values:
        return f"no node has the label {rule.key}"
    few = len(values) <= LISTED
    there = (
        f" ({rule.key} is {' or '.join(sorted(values))})"
        if few
        else _alternatives_text(rule, values)
    )
    return f"no node has {rule}{there}"


def _alternatives_text(rule: SelectorRule, values: list[str]) -> str:
    found = nearest(rule.values[0], values) if rule.values else []
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def _rules(pod: PodClass) -> tuple[list[SelectorRule], tuple[NodeTerm, ...]]:
    """The labels of a pod's ``nodeSelector``, and the alternatives of its affinity."""
    selector = [
        SelectorRule(key, Operator.IN, (value,)) for key, value in pod.spec.node_selector.items()
    ]
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    try:
        return selector, node_terms(affinity.required if affinity else None, "affinity")
    except InputError:  # the rule itself says what is wrong with it
        return selector, ()


def _of_term(term: NodeTerm) -> Iterator[SelectorRule]:
    yield from term.labels.rules
    yield from term.fields.rules
