"""What a pod's volumes say of every node, by kube-scheduler's own plugins.

One pod is asked about at a time, because claims are its own; the answer is a mask over slots, with
the statuses behind it, and on the node that is chosen the volumes that the pod gets there.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import BoolArray
from stretto.framework.model.plugin import Check, FilterPlugin
from stretto.framework.model.pod_facts import PodFacts
from stretto.framework.model.status import SKIP, Code, Status, unresolvable
from stretto.framework.plugins.parity.node_volume_limits import (
    COUNTED,
    NodeVolumeLimits,
    volumes_of,
)
from stretto.framework.plugins.parity.volume_binding import UNBOUND, claims_refusal
from stretto.framework.plugins.parity.volume_restrictions import (
    RestrictionCheck,
    VolumeRestrictions,
)
from stretto.framework.plugins.parity.volume_zone import VolumeZone
from stretto.framework.volume_binder import volumes
from stretto.framework.volume_binder.claims import claims_of
from stretto.framework.volume_binder.limits import usage_of
from stretto.framework.volume_binder.supply import supplies_of
from stretto.framework.volume_binder.volumes import NOTHING_TO_DO, Binder, Found
from stretto.framework.volumes.alike import Alike, Fresh, fresh, room_under
from stretto.framework.volumes.snapshot import VolumeSnapshot
from stretto.state.cluster.cluster import Cluster
from stretto.state.work.claims import VolumeChoice

BINDING: Final = "VolumeBinding"
NAMES: Final = ("VolumeRestrictions", "NodeVolumeLimits", BINDING, "VolumeZone")
"""The rules, in the order in which they are asked."""
_ASKED: Final[dict[str, FilterPlugin]] = {
    each.NAME: each for each in (VolumeRestrictions(), NodeVolumeLimits(), VolumeZone())
}

Statuses = npt.NDArray[np.int64]


class Said(NamedTuple):
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
    codes: tuple[Code, ...] = ()


class Judged(NamedTuple):
    """What all of them say of one pod."""

    #: bool[slot]: where the pod may go as far as its volumes are concerned; ``None`` is everywhere.
    allowed: BoolArray | None
    #: The rule that says "nowhere", and why; empty where none does.
    nowhere: tuple[str, str]
    #: What each rule that refuses nodes says.
    said: tuple[Said, ...]
    #: Knows what the pod gets on a node; ``None`` where there is nothing to get.
    binder: Binder | None
    #: The rules that the leaving of pods may please, as they look at this pod.
    checks: tuple[Check, ...] = ()


class VolumeRules:
    """Asks the volume rules of a profile about pods of one cluster."""

    def __init__(self, cluster: Cluster, names: frozenset[str] = frozenset(NAMES)) -> None:
        """Ask these rules."""
        #: What they are asked about.
        self.view = VolumeSnapshot(cluster)
        self._cluster = cluster
        self._names = names

    def judge(self, row: int) -> Judged:
        """Where a pod may go; call ``view.sync`` first where the cluster may have moved on."""
        facts = self.view.facts(row)
        if fault := self.view.fault(row):
            return Judged(None, ("", f"the pod cannot be read: {fault}"), (), None)
        said: list[Said] = []
        checks: list[Check] = []
        for name, plugin in _ASKED.items():
            if name not in self._names:
                continue
            answer = plugin.prefilter(facts, self.view.snapshot)
            if isinstance(answer, Check):
                checks.append(answer)
                said.extend(self._of_check(name, answer))
            elif answer.code is not Code.SKIP:
                return Judged(None, (name, answer.message), (), None)
        binder, refusal = self._binder(facts)
        if refusal is not SKIP:
            return Judged(None, (BINDING, refusal.message), (), None)
        if binder is not None:
            said.extend(self._of_binder(binder))
        return Judged(self._allowed(said), ("", ""), tuple(said), binder, tuple(checks))

    def fresh(self, row: int) -> Fresh | None:
        """What a pod asks where that alone decides; ``None`` where it must be asked alone."""
        facts, snapshot = self.view.readable(row), self.view.snapshot
        return None if facts is None else fresh(facts, snapshot, supplies_of(snapshot))

    def alike(self, row: int, judged: Judged) -> Alike:
        """Looks at pods that ask the same as one that was judged just now, one after another."""
        room = None
        if NodeVolumeLimits.NAME in self._names:
            new, _ = volumes_of(self.view.facts(row), self.view.snapshot)
            room = room_under(usage_of(self.view.snapshot, COUNTED), Counter(new.values()))
        return Alike(judged.binder, room)

    def curable(self, judged: Judged) -> BoolArray:
        """bool[slot]: nodes that refuse a pod and may not, once pods have left them."""
        refused = np.zeros(self._cluster.ledger.slots.size, np.bool_)
        for_good = refused.copy()
        for each in judged.said:
            resolvable = np.array([code is Code.UNSCHEDULABLE for code in each.codes])
            refused |= each.refused
            for_good |= each.refused & ~resolvable[each.which]
        return refused & ~for_good

    def hold_without(self, row: int, judged: Judged, slot: int, gone: Collection[int]) -> bool:
        """Whether a slot's volumes would do for a pod once some rows have gone from it."""
        node, pod = self.view.position(slot), self.view.facts(row)
        if node is None:
            return False
        leavers = [each for each in (self.view.at(r, slot) for r in gone) if each is not None]
        for check in judged.checks:
            if isinstance(check, RestrictionCheck):
                if not self._restrictions_hold(check, node, pod, leavers):
                    return False
                continue
            trial = check.trial(node)
            for each in leavers:
                trial.remove(each)
            if trial.status().code is not Code.SUCCESS:
                return False
        return True

    def _restrictions_hold(
        self, check: RestrictionCheck, node: int, pod: PodFacts, leavers: Sequence[PodFacts]
    ) -> bool:
        """Whether those who stay leave a pod its disks and claims.

        Upstream's rehearsal counts users by the claim's name alone, and two of one claim as one:
        pods would leave for nothing.
        """
        snapshot, going = self.view.snapshot, set(map(id, leavers))
        here = (each for each in snapshot.pods_on[node] if id(each) not in going)
        if check.disks and any(map(check.in_the_way, here)):
            return False
        space = pod.namespace
        left = [n for each in leavers if each.namespace == space for n, _ in each.shape.claims]
        return all(left.count(n) >= snapshot.claim_users.get((space, n), 0) for n in check.alone)

    def judge_alone(self, row: int, gone: Collection[int] = ()) -> Judged:
        """Where a pod may go now, its own claims on its node and some other pods aside."""
        self.view.sync()
        with self.view.without({row, *gone}):
            return self.judge(row)

    def lets(self, row: int, slot: int, gone: Collection[int] = ()) -> bool:
        """Whether a pod's volumes let it onto a slot now, its own claims and some pods aside."""
        judged = self.judge_alone(row, gone)
        return not judged.nowhere[1] and (judged.allowed is None or bool(judged.allowed[slot]))

    def holds(self, row: int, slot: int) -> bool:
        """Whether a pod's volumes let it onto a slot now."""
        self.view.sync()
        judged = self.judge(row)
        if judged.nowhere[1]:
            return False
        return judged.allowed is None or bool(judged.allowed[slot])

    def found(self, judged: Judged, slot: int) -> Found:
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

    def _binder(self, facts: PodFacts) -> tuple[Binder | None, Status]:
        """VolumeBinding before any node: what finds volumes, or why none can be found."""
        if not facts.shape.claims or BINDING not in self._names:
            return None, SKIP
        if refusal := claims_refusal(facts, self.view.snapshot):
            return None, unresolvable(refusal)
        claims = claims_of(facts, self.view.snapshot.objects)
        if claims.immediate:
            return None, UNBOUND
        return Binder(claims, self.view.snapshot), SKIP

    def _of_check(self, name: str, check: Check) -> Iterator[Said]:
        verdict = check.verdict()
        if verdict is None:
            return
        numbers = np.unique(verdict.which[verdict.refused]).tolist()
        statuses = [verdict.status_of(number) for number in numbers]
        renumbered = np.searchsorted(numbers, verdict.which).clip(0, len(numbers) - 1)
        yield self._by_slot(name, verdict.refused, renumbered, statuses)

    def _of_binder(self, binder: Binder) -> Iterator[Said]:
        answers, numbers = binder.answers()
        statuses = [
            Status(Code.UNRESOLVABLE, (each.error,) if each.error else each.reasons)
            for each in answers
        ]
        refused = np.array([bool(each.reasons) for each in statuses])
        if refused.any():
            yield self._by_slot(BINDING, refused[numbers], numbers.astype(np.int64), statuses)

    def _by_slot(
        self, name: str, refused: BoolArray, which: Statuses, statuses: Sequence[Status]
    ) -> Said:
        """Answers by node as answers by slot."""
        size, slots = self._cluster.ledger.slots.size, self.view.slots
        mask, numbers = np.zeros(size, np.bool_), np.zeros(size, np.int64)
        mask[slots], numbers[slots] = refused, which
        reasons, codes = [each.reasons for each in statuses], [each.code for each in statuses]
        return Said(name, mask, numbers, tuple(reasons), tuple(codes))

    def _allowed(self, said: list[Said]) -> BoolArray | None:
        if not said:
            return None
        allowed = np.ones(self._cluster.ledger.slots.size, np.bool_)
        for each in said:
            allowed &= ~each.refused
        return allowed


def choice_of(found: volumes.Found) -> VolumeChoice | None:
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
