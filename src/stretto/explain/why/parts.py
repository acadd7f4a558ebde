"""Node scores broken down by rule, and the rank of the chosen node.

The rules' own functions compute the scores on the current state; a pod that has a node is first
removed from it. The result therefore describes the current choice, not the choice at the time of
placement.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.explain.why.scene import Scene
from stretto.framework.affinity.view_for_rules import RuleView
from stretto.framework.contract.rule import ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.queries.fit_after import allocatable_after
from stretto.state.rows.devices import FORMS, MAX_DEVICES, WHOLE
from stretto.state.rows.resources import PODS

TOP: Final = 5
"""Number of best nodes shown."""


class ScorePart(msgspec.Struct, frozen=True):
    """Score of one node by one rule."""

    #: Name of the rule.
    plugin: str
    #: Score from 0 to 100.
    score: int
    #: Weight in the profile.
    weight: int


class ScoredNode(msgspec.Struct, frozen=True):
    """One node with its score, rule by rule."""

    #: Name of the node.
    node: str
    #: Rank among the fitting nodes, from 1; equal scores share the best rank.
    rank: int
    #: Sum of score × weight.
    total: int
    #: Score per rule, without rules that do not apply to the pod.
    parts: tuple[ScorePart, ...]
    #: True if the pod is on this node.
    chosen: bool = False


class NodeScores:
    """Every node's score for one class."""

    def __init__(
        self, rules: Sequence[tuple[ScoreRule, int]], pod: PodClass, view: View, fits: SlotArray
    ) -> None:
        """Score the slots that pass every filter."""
        #: int64[k]: slots that pass every filter.
        self.slots = fits
        self._names = view.nodes.names
        self._rules = [(rule, w) for rule, w in rules if rule.signature(pod) is not None]
        self._parts = [rule.score(pod, view, fits) for rule, _ in self._rules]
        total = np.zeros(len(fits), np.int64)
        for (_, weight), part in zip(self._rules, self._parts, strict=True):
            total += weight * part.astype(np.int64)
        #: int64[k]: scores of these slots.
        self.total: npt.NDArray[np.int64] = np.maximum(total, 0)

    def top(self, limit: int, chosen: int = -1) -> tuple[ScoredNode, ...]:
        """Return the best nodes, plus the chosen one at any rank."""
        ranks = np.argsort(-self.total, kind="stable")
        shown = ranks[:limit].tolist()
        mine = np.flatnonzero(self.slots == chosen).tolist()
        tied = [p for p in mine if p not in shown and self.total[p] == self.total[shown[-1]]]
        if tied:
            shown[-1:] = tied
        elif mine and mine[0] not in shown:
            shown += mine
        return tuple(self.node(place, chosen) for place in shown)

    def node(self, place: int, chosen: int = -1) -> ScoredNode:
        """Return one node by its position among the slots."""
        slot = int(self.slots[place])
        return ScoredNode(
            node=self._names[slot],
            rank=1 + int((self.total > self.total[place]).sum()),
            total=int(self.total[place]),
            parts=tuple(
                ScorePart(rule.NAME, int(part[place]), weight)
                for (rule, weight), part in zip(self._rules, self._parts, strict=True)
            ),
            chosen=slot == chosen,
        )

    @property
    def tied(self) -> int:
        """Number of nodes that share the best score."""
        return int((self.total == self.total.max()).sum()) if len(self.total) else 0


def view_without(scene: Scene, row: int) -> View:
    """A view of the scene without one pod that has a node."""
    cluster, view = scene.cluster, scene.view()
    slot, pod = int(cluster.pods.slot[row]), cluster.classes[int(cluster.pods.class_id[row])]
    columns, ledger = view.columns, cluster.ledger
    used = ledger.used[slot].copy()
    for column, amount in (*pod.requests, (PODS, 1)):
        used[column] -= amount
    count = len(columns.free)
    steps = ledger.resources.step_array()
    promised = allocatable_after(cluster, slot, (), {row})
    columns.free[:, slot] = (promised[:count] - used[:count]) // steps
    mask = int(cluster.pods.devices[row])
    for request in pod.devices:
        kind = ledger.devices.kind_number(request.kind)
        mine = [d for d in range(MAX_DEVICES) if mask >> d & 1]
        for device in mine:
            if columns.device_kind[slot, device] == kind:
                columns.device_free[slot, device] += request.milli
        form = 0 if request.milli < WHOLE else min(request.count, FORMS - 1)
        columns.census[slot, form] -= 1
    if pod.ports:
        columns.ports[:, slot] &= ~ledger.ports.own_mask(pod.ports)
    if isinstance(view.look, RuleView) and not cluster.pods.eviction_state[row]:
        view.look.exclude_pod(pod.id, slot)
    return view
