"""Reasons why preemption does not help a pod: one node per reason, with the pods that must stay."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.explain.why.scene import Scene
from stretto.framework.preemption.explain import (
    BUDGET,
    PROTECTED,
    GuardedExample,
    preemption_words,
)
from stretto.framework.preemption.terms import PriorityTerms
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import EvictionGuard

NAMED: Final = 3
"""Number of pods listed by name; further pods are only counted."""


class HeldFacts(msgspec.Struct, frozen=True):
    """A node on which preemption is blocked by pods that must stay."""

    #: Reason why preemption is blocked.
    reason: str
    #: Name of the node.
    node: str
    #: The first few of the pods, as ``namespace/name``.
    pods: tuple[str, ...]
    #: Number of pods.
    count: int
    #: Protection of the pods: ``queue NAME`` for a guarantee, ``budget NAMESPACE/NAME`` for a
    #: budget.
    by: tuple[str, ...] = ()


class PreemptionFacts(msgspec.Struct, frozen=True):
    """Reasons why no eviction would help a pod."""

    #: Text in the form of kube-scheduler's events.
    message: str
    #: (reason, number of nodes), the most frequent first.
    nodes: tuple[tuple[str, int], ...]
    #: One node for each reason that concerns specific pods.
    held: tuple[HeldFacts, ...] = ()


def forbidden_preemption(scene: Scene, row: int) -> PreemptionFacts | None:
    """Reasons why preemption does not help.

    ``None`` if it may, or if kube-scheduler's own rules decide.
    """
    if scene.profile.exact:
        return None
    now = float(scene.cluster.pods.since[: scene.cluster.pods.length].max(initial=0.0))
    terms = PriorityTerms(scene.cluster, scene.profile.preemption, lambda: scene.usage)
    budgets = BudgetLedger(scene.cluster)
    words = preemption_words(scene.engine, budgets, row, now, terms)
    if words is None:
        return None
    held = tuple(_held(scene, budgets, each) for each in words.examples)
    return PreemptionFacts(words.message, words.nodes, held)


def _held(scene: Scene, budgets: BudgetLedger, example: GuardedExample) -> HeldFacts:
    """Resolve an example to names."""
    cluster = scene.cluster
    names = sorted(cluster.pods.key(row) for row in example.rows)
    node = cluster.nodes.names[example.slot]
    by = tuple(sorted(set(_protectors(scene, budgets, example))))
    return HeldFacts(example.reason, node, tuple(names[:NAMED]), len(names), by)


def _protectors(scene: Scene, budgets: BudgetLedger, example: GuardedExample) -> Iterator[str]:
    """Named protections of the pods of an example."""
    if example.reason == BUDGET:
        for row in example.rows:
            yield from (f"budget {name}" for name in budgets.names(row))
    if example.reason == PROTECTED[EvictionGuard.GUARANTEED] and scene.usage is not None:
        yield from (f"queue {scene.usage.queue_of(row)}" for row in example.rows)
