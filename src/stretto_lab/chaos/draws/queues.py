"""Queues in the simulator: a small tree with changing limits, and law 5 over it.

The world creates, changes and deletes Queue objects. The law checks each new claim with its own
counts, by the queues with which the world created the pods. No claim may exceed the limit of a
queue or an ancestor that the plane had read when the pod was dispatched.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from stretto.api.types.godel import QueueSpec
from stretto.api.wire.kinds import QUEUE
from stretto.api.wire.quantity import amount
from stretto.base.rng import Rng
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.stores.store import Deletion, Patch, StatusReason, Store, WriteOutcome

SHARE: Final = 0.4
"""Share of seeds with queues."""
CHANGES: Final = ("change_queue", "drop_queue", "remake_queue")
"""Changes of the world that affect queues."""
NAMES: Final = ("org", "qa", "qb", "qc")
"""Queue names: ``qa`` and ``qb`` are children of ``org``."""
PARENTS: Final = {"qa": "org", "qb": "org"}
_HOLDING: Final = (int(PodState.NOMINATED), int(PodState.ASSUMED), int(PodState.BOUND))


class QueueDraw:
    """The queues of one world."""

    def __init__(self, seed: int) -> None:
        """Draw if the seed has queues; ``begin`` creates them."""
        rng = Rng(seed).child("queues")
        #: True if this seed has queues.
        self.exist: bool = rng.random() < SHARE
        self._seed = seed
        self._there: set[str] = set()

    def weights(self) -> dict[str, float]:
        """Weight of each change."""
        return dict.fromkeys(CHANGES, 3.0) if self.exist else {}

    def begin(self, store: Store) -> None:
        """Create the queues."""
        if self.exist:
            rng = Rng(self._seed).child("queues", "begin")
            for name in NAMES:
                self._make(store, name, rng)

    def queue_of(self, owner: str) -> str:
        """The queue annotation for an owner, group or pod name; empty for the default queue."""
        if not self.exist:
            return ""
        return Rng(self._seed).child("queue of", owner).choice((*NAMES, "", ""))

    def change(self, store: Store, rng: Rng) -> None:
        """Change limit, guarantee and policy of a queue."""
        if self._there:
            name = rng.choice(sorted(self._there))
            store.patch(QUEUE, [Patch("", name, {"spec": _spec(name, rng)})])

    def drop(self, store: Store, rng: Rng) -> None:
        """Delete a queue, even if it is used."""
        if self._there:
            name = rng.choice(sorted(self._there))
            self._there.discard(name)
            store.delete(QUEUE, [Deletion("", name)])

    def remake(self, store: Store, rng: Rng) -> None:
        """Create a deleted queue again."""
        deleted = [name for name in NAMES if name not in self._there]
        if deleted:
            self._make(store, rng.choice(deleted), rng)

    def lift(self, store: Store) -> None:
        """Create missing queues and remove all limits and guarantees."""
        if not self.exist:
            return
        free: dict[str, Any] = {"limit": None, "guarantee": None, "maxRunningUnits": None}
        for name in NAMES:
            if name not in self._there:
                self._make(store, name, Rng(self._seed).child("lift", name))
            store.patch(QUEUE, [Patch("", name, {"spec": {**free, "policy": "FifoSkip"}})])

    def _make(self, store: Store, name: str, rng: Rng) -> None:
        meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
        body = msgspec.json.encode({**meta, "spec": _spec(name, rng)})
        (reply,) = store.create(QUEUE, [body])
        if reply.outcome is not WriteOutcome.OK and reply.code is not StatusReason.ALREADY_EXISTS:
            raise AssertionError(f"the store refused a queue: {reply.message}")
        self._there.add(name)


def _spec(name: str, rng: Rng) -> dict[str, Any]:
    """Spec of a queue; absent fields are removed by null."""
    limit = rng.choice((None, 500, 1000, 2000, 4000))
    guarantee = rng.choice((None, None, 500, 1000))
    guarantee = (
        None if limit is not None and guarantee is not None and guarantee > limit else guarantee
    )
    return {
        "parent": PARENTS.get(name, ""),
        "policy": rng.choice(("FifoSkip", "FifoSkip", "FIFO", "Priority", "DRF", "Easy")),
        "limit": {"cpu": f"{limit}m"} if limit is not None else None,
        "guarantee": {"cpu": f"{guarantee}m"} if guarantee is not None else None,
        "maxRunningUnits": rng.choice((None, None, None, 1, 3)),
    }


class QueueLaw:
    """Law 5: claims within the limits of queues."""

    def __init__(self) -> None:
        """Start without any check."""
        #: Number of checks of a queue.
        self.looks: int = 0
        self._specs: dict[str, QueueSpec] = {}
        self._rows: set[str] = set()
        #: Queues whose limit changed, or in which other clients bound pods, while units were at
        #: shards.
        self._excused: set[str] = set()
        #: Queues and ancestors with a unit at a shard after the last step.
        self._busy: set[str] = set()

    def follow_plane(self) -> None:
        """Reset for a new plane, which lists the existing objects."""
        self._specs, self._rows = {}, set()
        self._excused = set(NAMES)

    def breaches(
        self, plane: Plane, pods: Iterable[tuple[str, str, str, int]], fresh: set[str]
    ) -> Iterator[InvariantBreach]:
        """Limits violated by the claims of a step.

        Args:
            plane: the plane that made the claims.
            pods: (uid, queue, unit, milli-CPU) of pods that use their queue, by their roles.
            fresh: uids of the claims that are new.
        """
        known = {name: queue.spec for name, queue in plane.cluster.queues.items()}
        holding = list(pods)
        now = {uid for uid, _, _, _ in holding}
        others = now - self._rows - fresh
        self._excuse(plane, known, {queue for uid, queue, _, _ in holding if uid in others})
        used: Counter[str] = Counter()
        units: dict[str, set[str]] = {}
        new: dict[str, set[str]] = {}
        takes = set[str]()
        for uid, queue, unit, cpu in holding:
            for name in _above(queue, known):
                used[name] += cpu
                units.setdefault(name, set()).add(unit)
                if uid in fresh and uid not in self._rows:
                    new.setdefault(name, set()).add(unit)
                    if cpu:
                        takes.add(name)
        for name in new.keys() & known.keys() - self._excused:
            self.looks += 1
            spec = known[name]
            most = amount("cpu", spec.limit["cpu"], "limit") if "cpu" in spec.limit else None
            if most is not None and used[name] > most and name in takes:
                yield InvariantBreach(5, f"queue {name}: {used[name]}m claimed, limit {most}m")
            runs = spec.max_running_units
            if runs is not None and len(units[name]) > runs and new[name] - self._ran(holding, now):
                yield InvariantBreach(5, f"queue {name}: {len(units[name])} run, limit {runs}")
        self._rows, self._specs = now, known

    def _ran(self, holding: Iterable[tuple[str, str, str, int]], now: set[str]) -> set[str]:
        """Units with a pod that ran before this step."""
        return {unit for uid, _, unit, _ in holding if uid in self._rows and uid in now}

    def _excuse(self, plane: Plane, known: dict[str, QueueSpec], bound: set[str]) -> None:
        """Exempt queues that changed while their units were at shards."""
        away = {unit.queue for unit in plane.units if unit.state is UnitState.DISPATCHED}
        busy = {name for queue in away for name in _above(queue, known)}
        self._excused &= busy | self._busy  # a unit that was at a shard may be granted in this step
        self._busy = busy
        changed = {n for n in NAMES if known.get(n) != self._specs.get(n)}
        for name in (*changed, *bound):
            changed.update(_above(name, known), _above(name, self._specs))
        self._excused |= changed


def _above(queue: str, known: dict[str, QueueSpec]) -> list[str]:
    """A queue and its existing ancestors."""
    found = []
    while queue in known and queue not in found:
        found.append(queue)
        queue = known[queue].parent
    return found


def holding(plane: Plane, world: Any) -> Iterator[tuple[str, str, str, int]]:
    """Pods that use their queue, by their roles."""
    pods = plane.cluster.pods
    for row in pods.rows().tolist():
        member = world.members.get(pods.uid[row])
        if int(pods.state[row]) in _HOLDING and member is not None:
            role = member.role
            queue = role.queue or ("" if role.foreign else "default")
            cpu = 0 if member.request.best_effort else member.request.cpu
            yield pods.uid[row], queue, role.group or role.owner or pods.uid[row], cpu
