"""Evaluates the volume rules for one pod: a mask over slots, the reasons, and the selected volumes.

PVCs belong to single pods, so pods are evaluated one at a time, with the kube-parity rules.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import BoolArray, NodeCheck, Subject
from stretto.framework.model.status import SKIP, PluginStatus, StatusCode
from stretto.framework.plugins.parity.node_volume_limits import (
    NodeVolumeLimitsPlugin,
    pods_within_limits,
)
from stretto.framework.plugins.parity.volume_binding import VolumeBindingPlugin, binder_of
from stretto.framework.plugins.parity.volume_restrictions import RestrictionCheck
from stretto.framework.plugins.table import PARITY_FILTERS
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, VolumeBinder, VolumeDecision
from stretto.framework.volumes.alike import AlikePods, UnboundPvcs, fresh
from stretto.framework.volumes.snapshot import VolumeSnapshot
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import VolumeChoice

BINDING: Final = VolumeBindingPlugin.NAME
"""Name of the rule that also selects the volumes."""
_ABOUT_VOLUMES: Final = {e.NAME: e for e in PARITY_FILTERS if e.SUBJECT is Subject.VOLUMES}
NAMES: Final = frozenset(_ABOUT_VOLUMES)
"""Names of the rules."""

Statuses = npt.NDArray[np.int64]
"""int64[slot]: the number of a status."""


class VolumeRuleResult(NamedTuple):
    """The result of one rule for every node."""

    #: The rule.
    rule: str
    #: bool[slot]: true where the rule rejects.
    refused: BoolArray
    #: int64[slot]: number of the status.
    which: Statuses
    #: Reasons by the number of the status.
    reasons: tuple[tuple[str, ...], ...]
    #: By the number of the status: true if evictions could resolve it.
    codes: tuple[StatusCode, ...] = ()


class VolumeJudgement(NamedTuple):
    """The results of all rules for one pod."""

    #: bool[slot]: true where the volumes of the pod allow it; ``None`` for everywhere.
    allowed: BoolArray | None
    #: Rule that rejects every node beforehand, and its reason; empty if there is none.
    nowhere: tuple[str, str]
    #: Results of the rules that reject nodes.
    said: tuple[VolumeRuleResult, ...]
    #: Selects the volumes of the pod on a node; ``None`` if the pod needs none.
    binder: VolumeBinder | None
    #: Results of the rules that evictions may resolve.
    checks: tuple[NodeCheck, ...] = ()


class VolumeRules:
    """The volume rules of a profile, evaluated for single pods of one cluster."""

    def __init__(self, cluster: Cluster, names: frozenset[str] = NAMES) -> None:
        """Use the rules with these names."""
        #: The cluster in the form that the rules read.
        self.view = VolumeSnapshot(cluster)
        self._cluster = cluster
        self._names = names

    def judge(self, row: int) -> VolumeJudgement:
        """Evaluate a pod; call ``view.sync`` first if the cluster may have changed."""
        facts = self.view.facts(row)
        if fault := self.view.fault(row):
            return VolumeJudgement(None, ("", f"the pod cannot be read: {fault}"), (), None)
        said: list[VolumeRuleResult] = []
        checks: list[NodeCheck] = []
        for name, plugin in _ABOUT_VOLUMES.items():
            if name not in self._names or name == BINDING:
                continue
            answer = plugin.prefilter(facts, self.view.snapshot)
            if isinstance(answer, NodeCheck):
                checks.append(answer)
                said.extend(self._of_check(name, answer))
            elif answer.code is not StatusCode.SKIP:
                return VolumeJudgement(None, (name, answer.message), (), None)
        found = self._binder(row)
        if isinstance(found, PluginStatus) and found is not SKIP:
            return VolumeJudgement(None, (BINDING, found.message), (), None)
        binder = None if isinstance(found, PluginStatus) else found
        if binder is not None:
            said.extend(self._of_binder(binder))
        return VolumeJudgement(self._allowed(said), ("", ""), tuple(said), binder, tuple(checks))

    def fresh(self, row: int) -> UnboundPvcs | None:
        """Unbound PVCs of a pod if only they matter; ``None`` if a full evaluation is needed."""
        facts, snapshot = self.view.readable(row), self.view.snapshot
        return None if facts is None else fresh(facts, snapshot)

    def alike(self, row: int, judged: VolumeJudgement) -> AlikePods:
        """Places pods one after another whose PVC requirements equal those of an evaluated pod."""
        capacity = None
        if NodeVolumeLimitsPlugin.NAME in self._names:
            capacity = pods_within_limits(self.view.facts(row), self.view.snapshot)
        return AlikePods(judged.binder, capacity)

    def curable(self, judged: VolumeJudgement) -> BoolArray:
        """bool[slot]: nodes that reject a pod and may accept it after evictions."""
        refused = np.zeros(self._cluster.ledger.slots.size, np.bool_)
        for_good = refused.copy()
        for each in judged.said:
            resolvable = np.array([code is StatusCode.UNSCHEDULABLE for code in each.codes])
            refused |= each.refused
            for_good |= each.refused & ~resolvable[each.which]
        return refused & ~for_good

    def fits_without(
        self, row: int, judged: VolumeJudgement, slot: int, gone: Collection[int]
    ) -> bool:
        """Return whether the volumes of a pod allow a slot after the eviction of some rows."""
        node, pod = self.view.position(slot), self.view.facts(row)
        if node is None:
            return False
        evicted_pods = [each for each in (self.view.at(r, slot) for r in gone) if each is not None]
        for check in judged.checks:
            if isinstance(check, RestrictionCheck):
                if not check.allows_without(node, pod, evicted_pods):
                    return False
                continue
            trial = check.trial(node)
            for each in evicted_pods:
                trial.remove(each)
            if trial.status().code is not StatusCode.SUCCESS:
                return False
        return True

    def judge_one(self, row: int, gone: Collection[int] = ()) -> VolumeJudgement:
        """Evaluate a pod at present, without itself on its node and without some other pods."""
        self.view.sync()
        with self.view.without({row, *gone}):
            return self.judge(row)

    def lets(self, row: int, slot: int, gone: Collection[int] = ()) -> bool:
        """True if the volumes of a pod allow a slot, without itself and without some other pods."""
        judged = self.judge_one(row, gone)
        return not judged.nowhere[1] and (judged.allowed is None or bool(judged.allowed[slot]))

    def holds(self, row: int, slot: int) -> bool:
        """Return whether the volumes of a pod allow a slot at present."""
        self.view.sync()
        judged = self.judge(row)
        if judged.nowhere[1]:
            return False
        return judged.allowed is None or bool(judged.allowed[slot])

    def found(self, judged: VolumeJudgement, slot: int) -> VolumeDecision:
        """Return the volumes that a pod gets on a slot."""
        position = self.view.position(slot)
        if judged.binder is None or position is None:
            return NOTHING_TO_DO
        return judged.binder.find(position)

    def choice(self, row: int, slot: int) -> VolumeChoice | None:
        """Work of the binder for the volumes of a pod on a slot.

        ``None`` if there is nothing to do.
        """
        if not self._cluster.pods.volumes[row]:
            return None
        self.view.sync()
        return self.found(self.judge(row), slot).choice

    def _binder(self, row: int) -> VolumeBinder | PluginStatus:
        """VolumeBinding's PreFilter: the binder, or a status that skips or ends the search."""
        if BINDING not in self._names:
            return SKIP
        return binder_of(self.view.facts(row), self.view.snapshot)

    def _of_check(self, name: str, check: NodeCheck) -> Iterator[VolumeRuleResult]:
        verdict = check.verdict()
        if verdict is None:
            return
        numbers = np.unique(verdict.which[verdict.refused]).tolist()
        statuses = [verdict.status_of(number) for number in numbers]
        renumbered = np.searchsorted(numbers, verdict.which).clip(0, len(numbers) - 1)
        yield self._by_slot(name, verdict.refused, renumbered, statuses)

    def _of_binder(self, binder: VolumeBinder) -> Iterator[VolumeRuleResult]:
        answers, numbers = binder.answers()
        statuses = [
            PluginStatus(StatusCode.UNRESOLVABLE, (each.error,) if each.error else each.reasons)
            for each in answers
        ]
        refused = np.array([bool(each.reasons) for each in statuses])
        if refused.any():
            yield self._by_slot(BINDING, refused[numbers], numbers.astype(np.int64), statuses)

    def _by_slot(
        self, name: str, refused: BoolArray, which: Statuses, statuses: Sequence[PluginStatus]
    ) -> VolumeRuleResult:
        """Convert statuses by node to results by slot."""
        size, slots = self._cluster.ledger.slots.size, self.view.slots
        mask, numbers = np.zeros(size, np.bool_), np.zeros(size, np.int64)
        mask[slots], numbers[slots] = refused, which
        reasons, codes = [each.reasons for each in statuses], [each.code for each in statuses]
        return VolumeRuleResult(name, mask, numbers, tuple(reasons), tuple(codes))

    def _allowed(self, said: list[VolumeRuleResult]) -> BoolArray | None:
        if not said:
            return None
        allowed = np.ones(self._cluster.ledger.slots.size, np.bool_)
        for each in said:
            allowed &= ~each.refused
        return allowed
