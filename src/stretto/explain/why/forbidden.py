"""Why preemption does not help a pod: one node per reason, with the pods that are not evicted."""

from typing import Final

import msgspec

from stretto.explain.why.scene import Scene
from stretto.framework.preemption.explain import GuardedExample, preemption_words
from stretto.framework.preemption.terms import PriorityTerms
from stretto.state.victims.budgets import BudgetLedger

NAMED: Final = 3
"""Pods listed by name; further pods are only counted."""


class HeldFacts(msgspec.Struct, frozen=True):
    """A node on which preemption is blocked by pods that must stay."""

    #: Why preemption is blocked.
    reason: str
    #: The node.
    node: str
    #: The first few of the pods, as ``namespace/name``.
    pods: tuple[str, ...]
    #: Number of pods.
    count: int


class PreemptionFacts(msgspec.Struct, frozen=True):
    """Why no eviction would help a pod."""

    #: Text in the form of kube-scheduler's events.
    message: str
    #: (reason, number of nodes), the most frequent first.
    nodes: tuple[tuple[str, int], ...]
    #: One node for each reason that concerns specific pods.
    held: tuple[HeldFacts, ...] = ()


def forbidden_preemption(scene: Scene, row: int) -> PreemptionFacts | None:
    """Why preemption does not help; ``None`` if it may, or if kube-scheduler's own rules decide."""
    if scene.profile.exact:
        return None
    now = float(scene.cluster.pods.since[: scene.cluster.pods.length].max(initial=0.0))
    terms = PriorityTerms(scene.cluster, scene.profile.preemption, lambda: scene.usage)
    words = preemption_words(scene.engine, BudgetLedger(scene.cluster), row, now, terms)
    if words is None:
        return None
    held = tuple(_held(scene, each) for each in words.examples)
    return PreemptionFacts(words.message, words.nodes, held)


def _held(scene: Scene, example: GuardedExample) -> HeldFacts:
    """Resolve an example to names."""
    cluster = scene.cluster
    names = sorted(cluster.pods.key(row) for row in example.rows)
    node = cluster.nodes.names[example.slot]
    return HeldFacts(example.reason, node, tuple(names[:NAMED]), len(names))
