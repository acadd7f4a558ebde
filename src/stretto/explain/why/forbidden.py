"""Why nobody's leaving would help a pod: a node for each reason, and the pods that stay there."""

from typing import Final

import msgspec

from stretto.explain.why.scene import Scene
from stretto.framework.preemption.explain import GuardedExample, preemption_words
from stretto.state.victims.budgets import BudgetLedger

NAMED: Final = 3
"""Pods that are named; of the others it is said how many they are."""


class HeldFacts(msgspec.Struct, frozen=True):
    """A node on which a preemption is forbidden by pods that stay."""

    #: What forbids it.
    reason: str
    #: The node.
    node: str
    #: The pods, the first few by name.
    pods: tuple[str, ...]
    #: How many they are.
    count: int


class PreemptionFacts(msgspec.Struct, frozen=True):
    """What forbids that others leave for a pod."""

    #: As kube-scheduler's events say it.
    message: str
    #: (reason, nodes), the most frequent first.
    nodes: tuple[tuple[str, int], ...]
    #: One node for each reason that pods are which stay.
    held: tuple[HeldFacts, ...] = ()


def forbidden_preemption(scene: Scene, row: int) -> PreemptionFacts | None:
    """Why preemption does not help; kube-scheduler's own rules say it in their own words."""
    if scene.profile.exact:
        return None
    now = float(scene.cluster.pods.since[: scene.cluster.pods.length].max(initial=0.0))
    words = preemption_words(scene.engine, BudgetLedger(scene.cluster), row, now)
    if words is None:
        return None
    held = tuple(_held(scene, each) for each in words.examples)
    return PreemptionFacts(words.message, words.nodes, held)


def _held(scene: Scene, example: GuardedExample) -> HeldFacts:
    """An example in names."""
    cluster = scene.cluster
    names = sorted(cluster.pods.key(row) for row in example.rows)
    node = cluster.nodes.names[example.slot]
    return HeldFacts(example.reason, node, tuple(names[:NAMED]), len(names))
