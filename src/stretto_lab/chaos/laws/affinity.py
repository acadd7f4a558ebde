"""Law 5 between pods: no claim breaks a required anti-affinity or a hard spread when it is made.

Looked at in the step in which a claim is made, on the pods that the plane knew of, counted by the
world's own numbers. A spread is looked at where nothing but claims changed counts in that step:
what was refused or asked to leave after a claim may have been there when it was made.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from stretto.plane import Plane, Step
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto_lab.chaos.draws.affinity import SKEW, KindAffinity
from stretto_lab.chaos.draws.pods import PodRequest
from stretto_lab.chaos.world import ChaosWorld


class _CountedPods(NamedTuple):
    """Who counts beside pods that stay where they are."""

    #: Pods that are leaving.
    leaving: bool
    #: Pods whose room is kept.
    nominated: bool


class AffinityLaw:
    """Checks fresh claims against other pods of their kind."""

    def __init__(self, world: ChaosWorld) -> None:
        """Nothing looked at yet."""
        #: How many claims were looked at.
        self.looks = 0
        self._world = world
        self._disturbed = True

    def look_at(self, step: Step) -> None:
        """What a step did beside making claims."""
        refused = bool(step.refusals) or any(v.refused or len(v.nominated) for v in step.verdicts)
        self._disturbed = refused

    def breaches(self, plane: Plane, fresh: Iterable[tuple[str, int]]) -> list[InvariantBreach]:
        """What is wrong with the claims of one step."""
        found = list[InvariantBreach]()
        for uid, slot in fresh:
            ask = self._world.members[uid].ask
            if ask.rule is KindAffinity.APART:
                found += self._apart(plane, uid, slot, ask)
            elif ask.rule is KindAffinity.SPREAD and not self._disturbed:
                found += self._spread(plane, slot, ask)
        self._disturbed = True  # until the next step says otherwise
        return found

    def _apart(self, plane: Plane, uid: str, slot: int, ask: PodRequest) -> list[InvariantBreach]:
        self.looks += 1
        pods = plane.cluster.pods
        # By kube-scheduler's rules a nominated pod of lower priority is looked at again later.
        later = PodState.NOMINATED if plane.config.profile.exact else None
        others = [
            pods.name[row]
            for row in pods.on_slot(slot).tolist()
            if pods.uid[row] != uid
            and self._kind_of(pods.uid[row]) == ask.kin
            and int(pods.state[row]) != later
        ]
        if not others:
            return []
        name = plane.cluster.nodes.names[slot]
        return [
            InvariantBreach(5, f"a pod of kind {ask.kin} was claimed on {name} beside {others}")
        ]

    def _spread(self, plane: Plane, slot: int, ask: PodRequest) -> list[InvariantBreach]:
        self.looks += 1
        # kube-scheduler counts nominated pods on the node it looks at alone, not in its zone.
        promised = (False, True) if plane.config.profile.exact else (True,)
        skews = [
            self._skew(plane, slot, ask, _CountedPods(leaving, nominated))
            for leaving in (False, True)
            for nominated in promised
        ]
        if min(skews) <= SKEW:
            return []
        zone = plane.cluster.nodes.zones[slot]
        return [
            InvariantBreach(
                5, f"kind {ask.kin} has {min(skews)} pods more in zone {zone} than elsewhere"
            )
        ]

    def _skew(self, plane: Plane, slot: int, ask: PodRequest, counted: _CountedPods) -> int:
        """Pods of a kind in a slot's zone above the emptiest zone."""
        pods, nodes = plane.cluster.pods, plane.cluster.nodes
        allowed = [
            s
            for s in nodes.live_slots().tolist()
            if not ask.pool or nodes.labels.value(s, "pool") == ask.pool
        ]
        counts = Counter({nodes.zones[s]: 0 for s in allowed})
        for row in pods.rows().tolist():
            at = int(pods.slot[row])
            if (
                at == NO_SLOT
                or at not in allowed
                or (pods.eviction_state[row] and not counted.leaving)
            ):
                continue
            if int(pods.state[row]) == PodState.NOMINATED and not counted.nominated:
                continue
            counts[nodes.zones[at]] += self._kind_of(pods.uid[row]) == ask.kin
        return counts[nodes.zones[slot]] - min(counts.values())

    def _kind_of(self, uid: str) -> str:
        member = self._world.members.get(uid)
        return "" if member is None else member.ask.kin
