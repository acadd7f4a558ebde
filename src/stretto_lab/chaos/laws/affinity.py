"""Law 5 between pods: no claim violates a required anti-affinity or a hard spread when it is made.

A claim is checked in the step in which it is made, against the pods that the plane had read and the
world's own numbers. A spread is checked only in steps in which only claims changed the counts: a
pod that was refused or evicted after a claim may have counted when the claim was made.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto_lab.chaos.draws.affinity import SKEW, GroupAffinity
from stretto_lab.chaos.draws.pods import PodRequest
from stretto_lab.chaos.world import ChaosWorld


class _CountedPods(NamedTuple):
    """Pods that count in addition to running ones."""

    #: Pods with an eviction under way.
    evicting: bool
    #: Nominated pods.
    nominated: bool


class AffinityLaw:
    """Checks new claims against other pods of their group."""

    def __init__(self, world: ChaosWorld) -> None:
        """Start without any check."""
        #: Number of claims that were checked.
        self.looks = 0
        self._world = world
        self._disturbed = True
        self._granted: list[int] = []
        self._placed = set[str]()

    def look_at(self, step: Step) -> None:
        """Record if a step changed counts by other changes than claims."""
        refused = bool(step.refusals) or any(v.refused or len(v.nominated) for v in step.verdicts)
        self._disturbed = refused
        self._granted = [row for verdict in step.verdicts for row in verdict.granted.tolist()]

    def breaches(self, plane: Plane, fresh: Iterable[tuple[str, int]]) -> list[InvariantBreach]:
        """Return the breaches in the claims of one step."""
        found = list[InvariantBreach]()
        self._disturbed = self._disturbed or self._lost_a_claim(plane)
        for uid, slot in fresh:
            request = self._world.members[uid].request
            if request.rule is GroupAffinity.APART:
                found += self._apart(plane, uid, slot, request)
            elif request.rule is GroupAffinity.SPREAD and not self._disturbed:
                found += self._spread(plane, slot, request)
        self._disturbed = True  # until ``look_at`` sees the next step
        return found

    def _lost_a_claim(self, plane: Plane) -> bool:
        """True if a claim ended in this step although its pod exists.

        The store may refuse a bind after the claims that counted it, and the refusal is reported
        one step later.
        """
        pods = plane.cluster.pods
        held = self._placed.union(pods.uid[row] for row in self._granted)
        rows = pods.rows()
        placed = pods.slot[rows] != NO_SLOT
        self._granted, self._placed = [], {pods.uid[row] for row in rows[placed].tolist()}
        return any(pods.uid[row] in held for row in rows[~placed].tolist())

    def _apart(
        self, plane: Plane, uid: str, slot: int, request: PodRequest
    ) -> list[InvariantBreach]:
        self.looks += 1
        pods = plane.cluster.pods
        # kube-scheduler checks a nominated pod of lower priority again when it is bound.
        later = PodState.NOMINATED if plane.config.profile.exact else None
        others = [
            pods.name[row]
            for row in pods.on_slot(slot).tolist()
            if pods.uid[row] != uid
            and self._group_of(pods.uid[row]) == request.group
            and int(pods.state[row]) != later
        ]
        if not others:
            return []
        name = plane.cluster.nodes.names[slot]
        return [
            InvariantBreach(
                5, f"pod of group {request.group} claimed on {name}, which has {others}"
            )
        ]

    def _spread(self, plane: Plane, slot: int, request: PodRequest) -> list[InvariantBreach]:
        self.looks += 1
        # kube-scheduler counts nominated pods only on the node that it checks, not in its zone.
        nominated_counts = (False, True) if plane.config.profile.exact else (True,)
        skews = [
            self._skew(plane, slot, request, _CountedPods(evicting, nominated))
            for evicting in (False, True)
            for nominated in nominated_counts
        ]
        if min(skews) <= SKEW:
            return []
        zone = plane.cluster.nodes.zones[slot]
        return [
            InvariantBreach(5, f"group {request.group} has a skew of {min(skews)} in zone {zone}")
        ]

    def _skew(self, plane: Plane, slot: int, request: PodRequest, counted: _CountedPods) -> int:
        """Pods of a group in the slot's zone minus those in the zone with the fewest."""
        pods, nodes = plane.cluster.pods, plane.cluster.nodes
        allowed = [
            s
            for s in nodes.live_slots().tolist()
            if not request.pool or nodes.labels.value(s, "pool") == request.pool
        ]
        counts = Counter({nodes.zones[s]: 0 for s in allowed})
        for row in pods.rows().tolist():
            at = int(pods.slot[row])
            if (
                at == NO_SLOT
                or at not in allowed
                or (pods.eviction_state[row] and not counted.evicting)
            ):
                continue
            if int(pods.state[row]) == PodState.NOMINATED and not counted.nominated:
                continue
            counts[nodes.zones[at]] += self._group_of(pods.uid[row]) == request.group
        return counts[nodes.zones[slot]] - min(counts.values())

    def _group_of(self, uid: str) -> str:
        member = self._world.members.get(uid)
        return "" if member is None else member.request.group
