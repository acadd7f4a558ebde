"""What a pod's volumes say of every node, by kube-scheduler's own plugins.

One pod is asked about at a time, because claims are its own; the answer is a mask over slots, with
the statuses behind it, and on the node that is chosen the volumes that the pod gets there.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import BoolArray, FilterPlugin, NodeCheck
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.status import SKIP, PluginStatus, StatusCode, unresolvable
from stretto.framework.plugins.parity.node_volume_limits import (
    COUNTED,
    NodeVolumeLimitsPlugin,
    volumes_of,
)
from stretto.framework.plugins.parity.volume_binding import (
    UNBOUND,
    VolumeBindingPlugin,
    pvcs_refusal,
)
from stretto.framework.plugins.parity.volume_restrictions import (
    RestrictionCheck,
    VolumeRestrictionsPlugin,
)
from stretto.framework.plugins.parity.volume_zone import VolumeZonePlugin
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.claims import pvcs_of
from stretto.framework.volume_binder.limits import usage_of
from stretto.framework.volume_binder.supply import supplies_of
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, VolumeBinder, VolumeDecision
from stretto.framework.volumes.alike import AlikePods, UnboundPvcs, capacity_within_limits, fresh
from stretto.framework.volumes.snapshot import VolumeSnapshot
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import VolumeChoice

BINDING: Final = VolumeBindingPlugin.NAME
"""The rule whose search finds the volumes too."""
_ASKED: Final[dict[str, FilterPlugin]] = {
    each.NAME: each
    for each in (VolumeRestrictionsPlugin(), NodeVolumeLimitsPlugin(), VolumeZonePlugin())
}
NAMES: Final = frozenset({*_ASKED, BINDING})
"""The rules."""

Statuses = npt.NDArray[np.int64]


class VolumeRuleResult(NamedTuple):
    """What one rule says of every node."""

    #: The rule.
    rule: str
    #: bool[slot]: where it refuses.
    refused: BoolArray
    #: int64[slot]: which of the reasons holds there.
    which: Statuses
    #: Reasons by that number.
    reasons: tuple[tuple[str, ...], ...]
    #: Whether the leaving of pods could cure them, by that number.
    codes: tuple[StatusCode, ...] = ()


class VolumeJudgement(NamedTuple):
    """What all of them say of one pod."""

    #: bool[slot]: where the pod may go as far as its volumes are concerned; ``None`` is everywhere.
    allowed: BoolArray | None
    #: The rule that says "nowhere", and why; empty where none does.
    nowhere: tuple[str, str]
    #: What each rule that refuses nodes says.
    said: tuple[VolumeRuleResult, ...]
    #: Knows what the pod gets on a node; ``None`` where there is nothing to get.
    binder: VolumeBinder | None
    #: The rules that the leaving of pods may please, as they look at this pod.
    checks: tuple[NodeCheck, ...] = ()


class VolumeRules:
    """Asks the volume rules of a profile about pods of one cluster."""

    def __init__(self, cluster: Cluster, names: frozenset[str] = NAMES) -> None:
        """Ask these rules."""
        #: What they are asked about.
        self.view = VolumeSnapshot(cluster)
        self._cluster = cluster
        self._names = names

    def judge(self, row: int) -> VolumeJudgement:
        """Where a pod may go; call ``view.sync`` first where the cluster may have moved on."""
        facts = self.view.facts(row)
        if fault := self.view.fault(row):
            return VolumeJudgement(None, ("", f"the pod cannot be read: {fault}"), (), None)
        said: list[VolumeRuleResult] = []
        checks: list[NodeCheck] = []
        for name, plugin in _ASKED.items():
            if name not in self._names:
                continue
            answer = plugin.prefilter(facts, self.view.snapshot)
            if isinstance(answer, NodeCheck):
                checks.append(answer)
                said.extend(self._of_check(name, answer))
            elif answer.code is not StatusCode.SKIP:
                return VolumeJudgement(None, (name, answer.message), (), None)
        binder, refusal = self._binder(facts)
        if refusal is not SKIP:
            return VolumeJudgement(None, (BINDING, refusal.message), (), None)
        if binder is not None:
            said.extend(self._of_binder(binder))
        return VolumeJudgement(self._allowed(said), ("", ""), tuple(said), binder, tuple(checks))

    def fresh(self, row: int) -> UnboundPvcs | None:
        """What a pod asks where that alone decides; ``None`` where it must be asked alone."""
        facts, snapshot = self.view.readable(row), self.view.snapshot
        return None if facts is None else fresh(facts, snapshot, supplies_of(snapshot))

    def alike(self, row: int, judged: VolumeJudgement) -> AlikePods:
        """Looks at pods that ask the same as one that was judged just now, one after another."""
        room = None
        if NodeVolumeLimitsPlugin.NAME in self._names:
            new, _ = volumes_of(self.view.facts(row), self.view.snapshot)
            room = capacity_within_limits(
                usage_of(self.view.snapshot, COUNTED), Counter(new.values())
            )
        return AlikePods(judged.binder, room)

    def curable(self, judged: VolumeJudgement) -> BoolArray:
        """bool[slot]: nodes that refuse a pod and may not, once pods have left them."""
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
        """Whether a slot's volumes would do for a pod once some rows have gone from it."""
        node, pod = self.view.position(slot), self.view.facts(row)
        if node is None:
            return False
        evicted_pods = [each for each in (self.view.at(r, slot) for r in gone) if each is not None]
        for check in judged.checks:
            if isinstance(check, RestrictionCheck):
                if not self._restrictions_allow(check, node, pod, evicted_pods):
                    return False
                continue
            trial = check.trial(node)
            for each in evicted_pods:
                trial.remove(each)
            if trial.status().code is not StatusCode.SUCCESS:
                return False
        return True

    def _restrictions_allow(
        self,
        check: RestrictionCheck,
        node: int,
        pod: SchedulingFacts,
        evicted_pods: Sequence[SchedulingFacts],
    ) -> bool:
        """Whether those who stay leave a pod its disks and claims.

        Upstream's rehearsal counts users by the claim's name alone, and two of one claim as one:
        pods would leave for nothing.
        """
        snapshot, going = self.view.snapshot, set(map(id, evicted_pods))
        here = (each for each in snapshot.pods_on[node] if id(each) not in going)
        if check.disks and any(map(check.in_the_way, here)):
            return False
        space = pod.namespace
        left = [n for each in evicted_pods if each.namespace == space for n, _ in each.shape.claims]
        return all(left.count(n) >= snapshot.pvc_users.get((space, n), 0) for n in check.alone)

    def judge_one(self, row: int, gone: Collection[int] = ()) -> VolumeJudgement:
        """Where a pod may go now, its own claims on its node and some other pods aside."""
        self.view.sync()
        with self.view.without({row, *gone}):
            return self.judge(row)

    def lets(self, row: int, slot: int, gone: Collection[int] = ()) -> bool:
        """Whether a pod's volumes let it onto a slot now, its own claims and some pods aside."""
        judged = self.judge_one(row, gone)
        return not judged.nowhere[1] and (judged.allowed is None or bool(judged.allowed[slot]))

    def holds(self, row: int, slot: int) -> bool:
        """Whether a pod's volumes let it onto a slot now."""
        self.view.sync()
        judged = self.judge(row)
        if judged.nowhere[1]:
            return False
        return judged.allowed is None or bool(judged.allowed[slot])

    def found(self, judged: VolumeJudgement, slot: int) -> VolumeDecision:
        """What a pod gets on a slot."""
        position = self.view.position(slot)
        if judged.binder is None or position is None:
            return NOTHING_TO_DO
        return judged.binder.find(position)

    def choice(self, row: int, slot: int) -> VolumeChoice | None:
        """What has to be done about a pod's volumes on a slot; ``None`` for nothing."""
        if not self._cluster.pods.volumes[row]:
            return None
        self.view.sync()
        return choice_of(self.found(self.judge(row), slot))

    def _binder(self, facts: SchedulingFacts) -> tuple[VolumeBinder | None, PluginStatus]:
        """VolumeBinding before any node: what finds volumes, or why none can be found."""
        if not facts.shape.claims or BINDING not in self._names:
            return None, SKIP
        if refusal := pvcs_refusal(facts, self.view.snapshot):
            return None, unresolvable(refusal)
        claims = pvcs_of(facts, self.view.snapshot.objects)
        if claims.immediate:
            return None, UNBOUND
        return VolumeBinder(claims, self.view.snapshot), SKIP

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
        """Answers by node as answers by slot."""
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


def choice_of(found: volumes.VolumeDecision) -> VolumeChoice | None:
    """What the binder has to do about a pod's volumes."""
    if not (found.taken or found.made):
        return None
    return VolumeChoice(
        tuple(
            (volume.metadata.name, claim.metadata.namespace, claim.metadata.name)
            for volume, claim in found.taken
        ),
        tuple((claim.metadata.namespace, claim.metadata.name) for claim in found.made),
    )
