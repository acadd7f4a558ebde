"""Reservations and moves in the simulator: drawn from the seed, with their laws.

Some pods of services reserve their capacity after deletion, some planes move pods, and another
rescheduler recommends nodes. The law reads the world's record of each pod. It checks pods that are
evicted for a move, and claims on nodes with reservations.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import MOVEMENT, NODE
from stretto.base.rng import Rng
from stretto.plane.plane import Plane
from stretto.state.cluster.reservations import PlaceReservation
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.work.evictions import EvictionCause
from stretto.state.work.rescheduling import ReschedulingGoal, ReschedulingRules
from stretto.stores.store import Deletion, Store
from stretto_lab.chaos.draws.pods import MIB, WIDGET, NodeShapeDraw, PodRequest, PodRole, overruns
from stretto_lab.chaos.draws.queues import QueueDraw

CHANGES: Final = ("add_movement", "drop_movement")
"""Changes made by another rescheduler."""
NAMES: Final = ("m1", "m2", "m3")
"""Names of Movement objects."""


class ReservationDraw:
    """Draws of a seed for reservations and moves."""

    def __init__(self, seed: int) -> None:
        """Draw from a separate stream."""
        rng = Rng(seed).child("moving")
        #: Share of service pods with a reservation.
        self.reservation_share: float = rng.choice((0.0, 0.4, 1.0))
        #: Seconds for which capacity stays reserved.
        self.ttl: int = rng.choice((3, 20))
        #: Rules of rescheduling; ``None`` if the plane does not move pods.
        self.rules: ReschedulingRules | None = None
        if rng.random() < 0.6:
            every, goal = rng.choice((1.0, 8.0)), rng.choice(list(ReschedulingGoal))
            dry_run, moves = rng.random() < 0.15, rng.randint(1, 4)
            self.rules = ReschedulingRules(every, goal, moves, dry_run)
        #: True if another rescheduler recommends nodes.
        self.with_movements: bool = rng.random() < 0.5
        self._rng = rng
        self._queues: bool = QueueDraw(seed).exist
        self._owners: list[str] = []
        self._single_count = 0

    def weights(self) -> dict[str, float]:
        """Weight of each change."""
        weight = 3.0 if self.with_movements else 0.0
        return {"add_movement": weight, "drop_movement": weight / 3}

    def add_extras(self, role: PodRole) -> PodRole:
        """In some cases reserve the capacity of a service pod; a single pod may get an owner."""
        alone = not (role.owner or role.group or role.foreign or role.node)
        alone = alone and (
            bool(role.queue) or not self._queues
        )  # its replacement must have the same queue
        if (
            alone
            and (self.rules is not None or self.reservation_share)
            and self._rng.random() < 0.7
        ):
            self._single_count += 1
            role = msgspec.structs.replace(role, owner=f"o{self._single_count}")
        if not role.owner or role.foreign:
            return role
        if role.owner not in self._owners:
            self._owners = [*self._owners[-5:], role.owner]
        if role.reserve_s or self._rng.random() >= self.reservation_share:
            return role
        return msgspec.structs.replace(role, reserve_s=str(self.ttl))

    def add_movement(self, store: Store) -> None:
        """Recommend nodes, perhaps a missing one, to the pods of an owner."""
        nodes = [record.name for record in store.list(NODE).records]
        if not self._owners or not nodes:
            return
        wanted = [
            {"node": self._rng.choice((*nodes, "nowhere")), "desiredPodCount": 1 + n % 2}
            for n in range(self._rng.randint(1, 3))
        ]
        owner = {
            "type": "ReplicaSet",
            "namespace": "default",
            "name": self._rng.choice(self._owners),
        }
        body: dict[str, Any] = {
            "apiVersion": MOVEMENT.api_version,
            "kind": MOVEMENT.kind,
            "metadata": {"name": self._rng.choice(NAMES)},
            "spec": {"creator": "rescheduler", "generation": 1},
            "status": {"owners": [{"owner": owner, "recommendedNodes": wanted}]},
        }
        store.create(MOVEMENT, [msgspec.json.encode(body)])

    def drop_movement(self, store: Store) -> None:
        """Delete a Movement."""
        store.delete(MOVEMENT, [Deletion("", self._rng.choice(NAMES))])


class ReservationLaw:
    """Laws 1 and 4 for reservations and moves."""

    def __init__(self, role_of: Callable[[str], PodRole | None]) -> None:
        """Initialize with a function from the uid of a pod to its role."""
        #: Number of evictions for a move that were checked.
        self.looks: int = 0
        #: Number of claims on nodes with reservations that were checked.
        self.with_reservations: int = 0
        self._role_of = role_of
        self._seen: set[tuple[str, int]] = set()

    def moved(self, plane: Plane) -> list[InvariantBreach]:
        """Check evictions for a move: within the rules, and only of owned single pods."""
        rules, cluster = plane.config.profile.rescheduling, plane.cluster
        fresh = [
            cluster.pods.uid[row]
            for row, why in cluster.evictions.in_progress.items()
            if why.cause is EvictionCause.RESCHEDULE
            and (cluster.pods.uid[row], why.serial) not in self._seen
            and cluster.pods.serial[row] == why.serial
        ]
        self._seen.update(
            (cluster.pods.uid[row], why.serial)
            for row, why in cluster.evictions.in_progress.items()
        )
        self.looks += len(fresh)
        found = []
        if fresh and (rules is None or rules.dry_run or len(fresh) > rules.moves):
            found.append(
                InvariantBreach(4, f"{len(fresh)} pods are moved, which exceeds the rules {rules}")
            )
        for uid in fresh:
            role = self._role_of(uid)
            if role is not None and (role.group or not role.owner or role.agrees == "false"):
                found.append(InvariantBreach(4, f"pod {uid} of {role} is moved"))
        return found

    def crowded(
        self,
        shape: NodeShapeDraw,
        requests: Iterable[PodRequest],
        request: PodRequest,
        reserved: Iterable[PlaceReservation],
        plane: Plane,
    ) -> str:
        """Resources that a claim overcommits together with the reservations on its node."""
        there = [_request_of(place, plane) for place in reserved]
        if not there:
            return ""
        self.with_reservations += 1
        return overruns(shape, [*requests, *there], request)


def _request_of(place: PlaceReservation, plane: Plane) -> PodRequest:
    """A reservation as a request of the simulator."""
    names = plane.cluster.ledger.resources.names
    held = {names[column]: amount for column, amount in place.pod.requests}
    ports = tuple(port.port for port in place.pod.ports)
    memory = -(-held.get("memory", 0) // MIB)
    return PodRequest(held.get("cpu", 0), memory, held.get(WIDGET, 0), ports=ports)
