"""The laws, which are checked against the true state after each step.

A claim is checked in the step in which it is made. It must fit together with all pods that Stretto
placed on its node and all other pods there that the plane has received. A conflict that only other
clients caused (a pod that the plane has not received yet, another node under the same name) is not
a breach.
"""

from collections import Counter
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach, check_all, gangs_are_complete
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto_lab.chaos.draws.pods import WHOLE, NodeShapeDraw, PodRequest, PodRole, admits, overruns
from stretto_lab.chaos.draws.queues import QueueLaw, holding
from stretto_lab.chaos.draws.reservations import ReservationLaw
from stretto_lab.chaos.laws.affinity import AffinityLaw
from stretto_lab.chaos.laws.preemption import PreemptionLaw
from stretto_lab.chaos.laws.truth import ConfirmedBind, TruePod, TrueState
from stretto_lab.chaos.world import ChaosWorld

AUDIT_EVERY: Final = 10
"""Steps between audits of the dispatcher; an audit visits every unit."""
FULL_EVERY: Final = 100
"""Steps between full recomputations; other steps recompute only the changed slots."""


class ClaimedPod(NamedTuple):
    """The claim of a plane for one pod."""

    #: Number of the plane that made the claim; a restarted plane has the next number.
    plane: int
    #: Name of the node.
    node: str
    #: Uid of the node, as known to the plane.
    node_uid: str
    #: Devices.
    mask: int


class Laws:
    """Checks a plane against the truth."""

    def __init__(
        self, world: ChaosWorld, truth: TrueState, acknowledged: MutableMapping[str, str]
    ) -> None:
        """Start without any check; ``acknowledged`` collects acknowledged binds."""
        #: Number of checks by law.
        self.checked: Counter[str] = Counter()
        #: True if the store binds gangs in one transaction.
        self.lands_whole: bool = True
        self._world = world
        self._truth = truth
        self._acknowledged_binds = acknowledged
        self._claims: dict[str, ClaimedPod] = {}
        self._last: dict[str, ClaimedPod] = {}
        self._unconfirmed: set[str] = set()
        self._seen: dict[str, int] = {}
        self._present: set[str] = set()
        self._broken: list[InvariantBreach] = []
        self._confirmed_binds: list[ConfirmedBind] = []
        self._number = 0
        self._position = -1
        self._queue_law = QueueLaw()
        self._preemption_law = PreemptionLaw(world)
        self._affinity_law = AffinityLaw(world)
        self._reservation_law = ReservationLaw(self._role_of)

    # ------------------------------------------------------------ a plane's life

    def follow_plane(self, plane: Plane) -> None:
        """Observe the steps of a new plane."""
        self._number += 1
        self._position = -1
        self._unconfirmed |= self._claims.keys()
        self._seen.clear()
        self._present.clear()
        self._queue_law.follow_plane()
        self._preemption_law.follow_plane()
        plane.observers.append(lambda step: self._look_at(plane, step))

    def _look_at(self, plane: Plane, step: Step) -> None:
        """Check that gangs are granted completely or not at all, and check preemptions."""
        self._broken.extend(self._preemption_law.look_at(plane, step))
        self._affinity_law.look_at(step)
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            self.checked["2 gangs are granted completely"] += 1
            self._broken.extend(gangs_are_complete(plan, verdict))

    def after_step(self, plane: Plane, step: int, *, whole: bool) -> list[InvariantBreach]:
        """Check every law after one step; ``whole`` is False if a crash interrupted the step."""
        fresh = self._claimed(plane)
        found = self._follow_truth()
        confirmed_binds, self._confirmed_binds = self._confirmed_binds, []
        found += self._preemption_law.after_step(plane, {uid for uid, _ in fresh})
        for law, looks in self._preemption_law.checked().items():
            self.checked[law] = looks
        found += self._affinity_law.breaches(plane, fresh)
        self.checked["5 classes spread evenly and apart"] = self._affinity_law.looks
        for uid, slot in fresh:
            found += self._judge(plane, uid, slot)
        found += self._world.overcommit.breaches(plane, fresh, self._world.nodes)
        self.checked["1 claims stay within what nodes promise"] += len(fresh)
        for confirmed_bind in confirmed_binds:
            found += self._landed(confirmed_bind)
        found += self._acknowledged()
        found += self._gangs(confirmed_binds)
        found += self._ledger_breaches(plane)
        found += self._reservation_law.moved(plane)
        self.checked["4 moves are permitted"] = self._reservation_law.looks
        self.checked["1 reservations stay free"] = self._reservation_law.with_reservations
        found += self._version_breaches(plane)
        if self._world.queues.exist:
            new = {uid for uid, _ in fresh}
            pods = holding(plane, self._world)
            found += self._queue_law.breaches(plane, pods, new)
            self.checked["5 queue limits hold"] = self._queue_law.looks
        if whole and step % AUDIT_EVERY == 0 and not plane.cluster.changes:
            self.checked["3 every unit in one place"] += 1
            found += [InvariantBreach(3, text) for text in plane.dispatcher.audit()]
        if step % FULL_EVERY == 0:
            self.checked["1 all ledgers recomputed"] += 1
            found += check_all(plane.cluster)
        found += self._broken
        self._broken = []
        return found

    def after_undecided_claims(self, plane: Plane) -> list[InvariantBreach]:
        """Check the decided claims of a step in which the binder crashed before hosts were decided.

        Their binds may be confirmed although no successor of the binder has these claims. The truth
        is followed first, as after any other step: a pod that ended before the plane read the store
        uses no capacity. The next check judges the binds that the store shows meanwhile.
        """
        fresh = self._claimed(plane)
        found = self._follow_truth()
        return found + [each for uid, slot in fresh for each in self._judge(plane, uid, slot)]

    def _follow_truth(self) -> list[InvariantBreach]:
        """Follow the true state; confirmed binds are kept until they are checked."""
        confirmed_binds, found = self._truth.follow()
        self._confirmed_binds += confirmed_binds
        return found

    # ------------------------------------------------------------ law 1: claims

    def _claimed(self, plane: Plane) -> list[tuple[str, int]]:
        """Uids and slots of new claims."""
        cluster = plane.cluster
        pods = cluster.pods
        now: dict[str, ClaimedPod] = {}
        fresh: list[tuple[str, int]] = []
        for row in np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED).tolist():
            uid, slot = pods.uid[row], int(pods.slot[row])
            known = self._claims.get(uid)
            if slot == NO_SLOT:
                if known is not None:
                    now[uid] = known
                continue
            nodes, mask = cluster.nodes, int(pods.devices[row])
            claim = ClaimedPod(self._number, nodes.names[slot], nodes.uids[slot], mask)
            if known is not None and known._replace(node_uid=claim.node_uid) == claim:
                now[uid] = known  # the same claim; its node may have been recreated
                continue
            now[uid] = claim
            fresh.append((uid, slot))
        self._claims = now
        self._last.update(now)
        return fresh

    def _judge(self, plane: Plane, uid: str, slot: int) -> list[InvariantBreach]:
        """Check one claim against the truth and against the other pods that the plane knew."""
        claim, pod = self._claims[uid], self._truth.pods.get(uid)
        shape = self._world.nodes.get(claim.node)
        if pod is None or pod.finished or shape is None:
            return []
        if self._world.node_uids[claim.node] != claim.node_uid:
            return []
        self.checked["1 claims fit"] += 1
        others = self._others(plane, claim, slot, uid)
        request = pod.request
        problem = overruns(shape, [*(other.request for other, _ in others), request], request)
        if not problem and request.gpus:
            problem = _device_problem(shape, request, claim.mask, others)
        if not problem:
            reserved = [p for p in plane.cluster.reservations.places.values() if p.slot == slot]
            requests = [*(other.request for other, _ in others), request]
            problem = self._reservation_law.crowded(shape, requests, request, reserved, plane)
        found = []
        if problem:
            near = ", ".join(sorted(_described(other) for other, _ in others))
            found.append(
                InvariantBreach(1, f"claim of {pod.name} on {claim.node}: {problem} with {near}")
            )
        found += self._judge_rules(plane, claim, slot, request)
        return found

    def _others(
        self, plane: Plane, claim: ClaimedPod, slot: int, uid: str
    ) -> list[tuple[TruePod, int]]:
        """Own, claimed and other known pods on the claim's node, with their devices."""
        pods = plane.cluster.pods
        found: dict[str, tuple[TruePod, int]] = {}
        for other in self._truth.on_node.get(claim.node, {}).values():
            row = pods.row(other.uid)
            here = row is not None and pods.slot[row] == slot
            if other.ours or here:
                mask = other.mask if other.ours or row is None else int(pods.devices[row])
                found[other.uid] = (other, mask)
        for key, each in self._claims.items():
            pod = self._truth.pods.get(key)
            if each.node != claim.node or pod is None or pod.finished:
                continue
            if not pod.node or pod.node == claim.node:
                found[key] = (pod, each.mask)
        found.pop(uid, None)
        return list(found.values())

    def _role_of(self, uid: str) -> PodRole | None:
        member = self._world.members.get(uid)
        return None if member is None else member.role

    def _judge_rules(
        self, plane: Plane, claim: ClaimedPod, slot: int, request: PodRequest
    ) -> list[InvariantBreach]:
        """Check the static rules of the node, if the plane knew its current version."""
        shape = self._world.nodes[claim.node]
        if shape != self._seen_shape(plane, claim.node, slot) or admits(shape, request):
            return []
        return [InvariantBreach(1, f"claim on {claim.node}, whose rules exclude the pod")]

    def _seen_shape(self, plane: Plane, name: str, slot: int) -> NodeShapeDraw | None:
        """The true shape of a node, or None if the plane has an old version."""
        record = self._world.node_versions.get(name)
        known = plane.cluster.nodes.versions[slot]
        return self._world.nodes[name] if str(record) == known else None

    def _landed(self, confirmed_bind: ConfirmedBind) -> list[InvariantBreach]:
        """Check that a confirmed bind was claimed, and that pods placed by Stretto still fit."""
        self.checked["1 binds were claimed"] += 1
        pod, node = confirmed_bind.pod, confirmed_bind.node
        claim = self._last.get(pod.uid)
        if claim is None or claim.node != node:
            claimed = claim.node if claim is not None else "no node"
            return [InvariantBreach(1, f"pod {pod.name} bound to {node}, claimed on {claimed}")]
        shape = self._world.nodes.get(node)
        if shape is None or claim.node_uid != self._world.node_uids[node]:
            return []
        mine = [
            other
            for other in self._truth.on_node.get(node, {}).values()
            if other.ours and other is not pod and self._node_uid(other) == claim.node_uid
        ]
        problem = overruns(shape, [*(other.request for other in mine), pod.request], pod.request)
        if not problem and pod.request.gpus:
            problem = _device_problem(
                shape, pod.request, pod.mask, [(each, each.mask) for each in mine]
            )
        return [InvariantBreach(1, f"bind of {pod.name} to {node}: {problem}")] if problem else []

    def _node_uid(self, pod: TruePod) -> str:
        """Uid of the node of the last claim of a pod; empty without a claim."""
        claim = self._last.get(pod.uid)
        return claim.node_uid if claim is not None else ""

    # ------------------------------------------------------------ laws 2 and 3

    def _gangs(self, confirmed_binds: Sequence[ConfirmedBind]) -> list[InvariantBreach]:
        """Check that at least ``min_member`` pods of a gang are bound, or none.

        A claim whose bind was not answered counts, even if its plane has crashed since. Stores that
        bind pod by pod may bind parts of a gang; there only verdicts are checked.
        """
        found: list[InvariantBreach] = []
        if not self.lands_whole:
            return found
        for name in {self._world.members[each.pod.uid].role.group for each in confirmed_binds} - {
            ""
        }:
            group = self._world.groups[name]
            if group.disturbed or not group.exists:
                continue
            self.checked["2 gangs are bound completely"] += 1
            bound = sum(
                1
                for uid, pod in self._truth.pods.items()
                if self._world.members[uid].role.group == name
                and (pod.node or uid in self._claims or uid in self._unconfirmed)
            )
            bound += sum(  # bound and evicted between two steps
                1
                for each in confirmed_binds
                if each.pod.uid not in self._truth.pods
                and self._world.members[each.pod.uid].role.group == name
            )
            if bound < group.min_member:
                found.append(
                    InvariantBreach(2, f"gang {name}: {bound} bound, {group.min_member} needed")
                )
        return sorted(found)

    def _acknowledged(self) -> list[InvariantBreach]:
        """Check that acknowledged binds are in the true state."""
        found = []
        for uid, node in self._acknowledged_binds.items():
            self.checked["3 acknowledged binds stand"] += 1
            pod = self._truth.pods.get(uid)
            if pod is not None and pod.node != node:
                found.append(
                    InvariantBreach(3, f"bind of {pod.name} to {node} was acknowledged and lost")
                )
        self._acknowledged_binds.clear()
        return found

    def _ledger_breaches(self, plane: Plane) -> list[InvariantBreach]:
        """Check the used amounts of every changed slot against its pods' requests."""
        cluster = plane.cluster
        ledger, pods = cluster.ledger, cluster.pods
        changed = ledger.changes_since(self._position) if self._position >= 0 else None
        self._position = ledger.head
        slots = range(ledger.slots.size) if changed is None else set(changed.tolist())
        found = []
        for slot in slots:
            rows = pods.on_slot(slot)
            self.checked["1 ledger equals rows"] += 1
            expected = cluster.classes.requests_of(pods.class_id[rows]).sum(axis=0)
            for place in cluster.reservations.places.values():
                if place.slot == slot:
                    expected = (
                        expected
                        + cluster.classes.requests_of(np.array([place.pod.id], np.int32))[0]
                    )
            used = ledger.used[slot]
            width = min(len(expected), len(used))
            if (expected[:width] != used[:width]).any():
                found.append(
                    InvariantBreach(1, f"slot {slot}: charged {used.tolist()}, expected {expected}")
                )
        return found

    def _version_breaches(self, plane: Plane) -> list[InvariantBreach]:
        """Check that known node versions never decrease and that deleted nodes stay deleted."""
        nodes = plane.cluster.nodes
        found = []
        present = set()
        for name, slot in nodes.by_name.items():
            uid, version = nodes.uids[slot], int(nodes.versions[slot])
            before = self._seen.get(uid)
            if before is not None and (before > version or uid not in self._present):
                found.append(
                    InvariantBreach(3, f"node {name}: version {version} known after {before}")
                )
            self._seen[uid] = version
            present.add(uid)
        self._present = present
        self.checked["3 no version goes back"] += 1
        return found


def _described(pod: TruePod) -> str:
    """A pod in a message, with its origin and whether its bind is confirmed."""
    origin = ("ours" if pod.ours else "foreign") if pod.node else "claimed"
    return f"{pod.name} ({origin})"


def _device_problem(
    shape: NodeShapeDraw, request: PodRequest, mask: int, others: Iterable[tuple[TruePod, int]]
) -> str:
    """Error in the devices of a claim; empty if there is none."""
    chosen = [d for d in range(16) if mask >> d & 1]
    if len(chosen) != request.gpus or any(d >= shape.gpus for d in chosen):
        return f"devices {chosen} for {request.gpus} of {shape.gpus} GPUs"
    for device in chosen:
        taken = request.milli + sum(
            o.request.milli for o, m in others if o.request.gpus and m >> device & 1
        )
        if taken > WHOLE:
            return f"device {device} is allocated {taken} milli"
    return ""
