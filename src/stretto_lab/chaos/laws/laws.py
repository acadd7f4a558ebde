"""The laws, checked against the truth after each step.

A claim is looked at in the step in which it is made: everything that is of ours on its node, and
what others have there and the plane knew of, must fit together with it. What only others caused
(a pod that nobody had told us of, another node under the same name) is no breach of ours.
"""

from collections import Counter
from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.plane import Plane, Step
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
"""Steps between audits of the dispatcher, which walk every unit."""
FULL_EVERY: Final = 100
"""Steps between full recomputations; between them only what has changed is computed again."""


class ClaimedPod(NamedTuple):
    """A pod that the plane has claimed a node for."""

    #: Number of the plane that made it: the next one after a crash makes its own.
    plane: int
    #: Name of the node.
    node: str
    #: Uid of the node, as the plane knew it.
    node_uid: str
    #: Devices.
    mask: int


class Laws:
    """Checks a plane against the truth."""

    def __init__(
        self, world: ChaosWorld, truth: TrueState, acknowledged: MutableMapping[str, str]
    ) -> None:
        """Nothing checked yet; ``acknowledged`` is where the store's face notes what it took."""
        #: How often each law was checked.
        self.checked: Counter[str] = Counter()
        #: Whether the store binds gangs in one transaction.
        self.lands_whole: bool = True
        self._world = world
        self._truth = truth
        self._news = acknowledged
        self._claims: dict[str, ClaimedPod] = {}
        self._last: dict[str, ClaimedPod] = {}
        self._adrift: set[str] = set()
        self._seen: dict[str, int] = {}
        self._present: set[str] = set()
        self._broken: list[InvariantBreach] = []
        self._number = 0
        self._position = -1
        self._queue_law = QueueLaw()
        self._preemption_draw = PreemptionLaw(world)
        self._kin = AffinityLaw(world)
        self._reservation_draw = ReservationLaw(self._role_of)

    # ------------------------------------------------------------ a plane's life

    def follow_plane(self, plane: Plane) -> None:
        """A new plane: from now on its steps are looked at."""
        self._number += 1
        self._position = -1
        self._adrift |= self._claims.keys()
        self._seen.clear()
        self._present.clear()
        self._queue_law.follow_plane()
        plane.observers.append(lambda step: self._look_at(plane, step))

    def _look_at(self, plane: Plane, step: Step) -> None:
        """Gangs are granted for enough or for none, and preemptions are lawful."""
        self._broken.extend(self._preemption_draw.look_at(plane, step))
        self._kin.look_at(step)
        self.checked["4 preemptions are lawful"] = self._preemption_draw.looks
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            self.checked["2 gangs are whole"] += 1
            self._broken.extend(gangs_are_complete(plan, verdict))

    def after_step(self, plane: Plane, step: int, *, whole: bool) -> list[InvariantBreach]:
        """Every law after one step; ``whole`` says that the step was not cut short by a crash."""
        fresh = self._claimed(plane)
        confirmed_binds, found = self._truth.follow()
        found += self._kin.breaches(plane, fresh)
        self.checked["5 kinds keep apart and even"] = self._kin.looks
        for uid, slot in fresh:
            found += self._judge(plane, uid, slot)
        for confirmed_bind in confirmed_binds:
            found += self._landed(confirmed_bind)
        found += self._acknowledged()
        found += self._gangs(confirmed_binds)
        found += self._books(plane)
        found += self._reservation_draw.moved(plane)
        self.checked["4 moves are lawful"] = self._reservation_draw.looks
        self.checked["1 kept places stay free"] = self._reservation_draw.beside
        found += self._version_breaches(plane)
        if self._world.tenants.exist:
            new = {uid for uid, _ in fresh}
            pods = holding(plane, self._world)
            found += self._queue_law.breaches(plane, pods, new)
            self.checked["5 limits of queues hold"] = self._queue_law.looks
        if whole and step % AUDIT_EVERY == 0 and not plane.cluster.changes:
            self.checked["3 every unit in one place"] += 1
            found += [InvariantBreach(3, text) for text in plane.dispatcher.audit()]
        if step % FULL_EVERY == 0:
            self.checked["1 all books recomputed"] += 1
            found += check_all(plane.cluster)
        found += self._broken
        self._broken = []
        return found

    # ------------------------------------------------------------ law 1: claims

    def _claimed(self, plane: Plane) -> list[tuple[str, int]]:
        """Uids and slots of the claims that are new."""
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
                now[uid] = known  # the same claim; its node may have come back as another
                continue
            now[uid] = claim
            fresh.append((uid, slot))
        self._claims = now
        self._last.update(now)
        return fresh

    def _judge(self, plane: Plane, uid: str, slot: int) -> list[InvariantBreach]:
        """Whether a claim was lawful, by the truth and by what the plane knew of others."""
        claim, pod = self._claims[uid], self._truth.pods.get(uid)
        shape = self._world.nodes.get(claim.node)
        if pod is None or pod.finished or shape is None:
            return []
        if self._world.node_uids[claim.node] != claim.node_uid:
            return []
        self.checked["1 claims fit"] += 1
        others = self._others(plane, claim, slot, uid)
        ask = pod.ask
        said = overruns(shape, [*(other.ask for other, _ in others), ask], ask)
        if not said and ask.gpus:
            said = _device_trouble(shape, ask, claim.mask, others)
        if not said:
            kept = [p for p in plane.cluster.reservations.places.values() if p.slot == slot]
            asks = [*(other.ask for other, _ in others), ask]
            said = self._reservation_draw.crowded(shape, asks, ask, kept, plane)
        found = []
        if said:
            beside = ", ".join(sorted(_words(other) for other, _ in others))
            found.append(
                InvariantBreach(1, f"claim of {pod.name} on {claim.node}: {said} beside {beside}")
            )
        found += self._judge_rules(plane, claim, slot, ask)
        return found

    def _others(
        self, plane: Plane, claim: ClaimedPod, slot: int, uid: str
    ) -> list[tuple[TruePod, int]]:
        """Who counts on the claim's node, with devices: ours, claimed, others that are known."""
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
        self, plane: Plane, claim: ClaimedPod, slot: int, ask: PodRequest
    ) -> list[InvariantBreach]:
        """Whether the node would have the pod at all, as far as the plane knew the node."""
        shape = self._world.nodes[claim.node]
        if shape != self._seen_shape(plane, claim.node, slot) or admits(shape, ask):
            return []
        return [InvariantBreach(1, f"claim on {claim.node}, whose rules keep the pod out")]

    def _seen_shape(self, plane: Plane, name: str, slot: int) -> NodeShapeDraw | None:
        """The true shape, where what the plane knows of the node is up to date."""
        record = self._world.node_versions.get(name)
        known = plane.cluster.nodes.versions[slot]
        return self._world.nodes[name] if str(record) == known else None

    def _landed(self, confirmed_bind: ConfirmedBind) -> list[InvariantBreach]:
        """A bind of ours has become true: it was claimed, and what is ours still fits."""
        self.checked["1 binds were claimed"] += 1
        pod, node = confirmed_bind.pod, confirmed_bind.node
        claim = self._last.get(pod.uid)
        if claim is None or claim.node != node:
            meant = claim.node if claim is not None else "no node"
            return [InvariantBreach(1, f"pod {pod.name} was bound to {node}, claimed was {meant}")]
        shape = self._world.nodes.get(node)
        if shape is None or claim.node_uid != self._world.node_uids[node]:
            return []
        mine = [
            other
            for other in self._truth.on_node.get(node, {}).values()
            if other.ours and other is not pod and self._node_uid(other) == claim.node_uid
        ]
        said = overruns(shape, [*(other.ask for other in mine), pod.ask], pod.ask)
        if not said and pod.ask.gpus:
            said = _device_trouble(shape, pod.ask, pod.mask, [(each, each.mask) for each in mine])
        return [InvariantBreach(1, f"bind of {pod.name} to {node}: {said}")] if said else []

    def _node_uid(self, pod: TruePod) -> str:
        """Uid of the node for which a pod of ours was claimed last; empty for one never claimed."""
        claim = self._last.get(pod.uid)
        return claim.node_uid if claim is not None else ""

    # ------------------------------------------------------------ laws 2 and 3

    def _gangs(self, confirmed_binds: Sequence[ConfirmedBind]) -> list[InvariantBreach]:
        """Pods of a gang land together: enough of them, or none.

        A claim whose bind went unanswered counts, also where its plane has died since. Where pods
        are bound one by one, the store says what lands: there verdicts alone tell.
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
            self.checked["2 gangs land whole"] += 1
            bound = sum(
                1
                for uid, pod in self._truth.pods.items()
                if self._world.members[uid].role.group == name
                and (pod.node or uid in self._claims or uid in self._adrift)
            )
            bound += sum(  # landed, and evicted as one, between two looks
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
        """What the store said yes to is so."""
        found = []
        for uid, node in self._news.items():
            self.checked["3 acknowledged binds stand"] += 1
            pod = self._truth.pods.get(uid)
            if pod is not None and pod.node != node:
                found.append(
                    InvariantBreach(3, f"the bind of {pod.name} to {node} was acknowledged, lost")
                )
        self._news.clear()
        return found

    def _books(self, plane: Plane) -> list[InvariantBreach]:
        """Used amounts of every slot that has changed are what its pods take."""
        cluster = plane.cluster
        ledger, pods = cluster.ledger, cluster.pods
        changed = ledger.changes_since(self._position) if self._position >= 0 else None
        self._position = ledger.head
        slots = range(ledger.slots.size) if changed is None else set(changed.tolist())
        found = []
        for slot in slots:
            rows = pods.on_slot(slot)
            self.checked["1 books equal rows"] += 1
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
                    InvariantBreach(1, f"slot {slot} is booked as {used.tolist()}, not {expected}")
                )
        return found

    def _version_breaches(self, plane: Plane) -> list[InvariantBreach]:
        """What is known of a node never becomes older, and one that has gone stays gone."""
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
        self.checked["3 nothing known grows older"] += 1
        return found


def _words(pod: TruePod) -> str:
    """A pod in a message: whose it is, and whether its bind is true already."""
    whose = ("ours" if pod.ours else "others'") if pod.node else "claimed"
    return f"{pod.name} ({whose})"


def _device_trouble(
    shape: NodeShapeDraw, ask: PodRequest, mask: int, others: Iterable[tuple[TruePod, int]]
) -> str:
    """What is wrong with the devices of a claim; empty when nothing is."""
    chosen = [d for d in range(16) if mask >> d & 1]
    if len(chosen) != ask.gpus or any(d >= shape.gpus for d in chosen):
        return f"devices {chosen} for {ask.gpus} of {shape.gpus} GPUs"
    for device in chosen:
        taken = ask.milli + sum(o.ask.milli for o, m in others if o.ask.gpus and m >> device & 1)
        if taken > WHOLE:
            return f"device {device} is given out {taken} milli"
    return ""
