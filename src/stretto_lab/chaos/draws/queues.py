"""Queues in the simulator: a small tree with limits that change, and law 5 over it.

The world makes Queue objects, changes and deletes them. The law looks at claims as they are made
and counts for itself, by the labels with which the world made the pods: no claim takes a queue, or
one that it is part of, above the limit that the plane knew when the pod was handed out.
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
from stretto.stores.store import Deletion, EmbeddedStore, Patch, StatusReason, WriteOutcome

SHARE: Final = 0.4
"""Share of the seeds that have queues."""
CHANGES: Final = ("change_queue", "drop_queue", "remake_queue")
"""What the world may do to queues."""
NAMES: Final = ("org", "qa", "qb", "qc")
"""The queues: two are part of ``org``, one stands beside it."""
PARENTS: Final = {"qa": "org", "qb": "org"}
_HOLDING: Final = (int(PodState.NOMINATED), int(PodState.ASSUMED), int(PodState.BOUND))


class QueueDraw:
    """The queues of one world."""

    def __init__(self, seed: int) -> None:
        """No queue exists before ``begin``."""
        rng = Rng(seed).child("queues")
        #: Whether this seed has queues at all.
        self.exist: bool = rng.random() < SHARE
        self._seed = seed
        self._there: set[str] = set()

    def weights(self) -> dict[str, float]:
        """How often each change happens."""
        return dict.fromkeys(CHANGES, 3.0) if self.exist else {}

    def begin(self, store: EmbeddedStore) -> None:
        """Make the queues."""
        if self.exist:
            rng = Rng(self._seed).child("queues", "begin")
            for name in NAMES:
                self._make(store, name, rng)

    def queue_of(self, owner: str) -> str:
        """The queue that pods of one owner, group or name ask for; empty for the default."""
        if not self.exist:
            return ""
        return Rng(self._seed).child("queue of", owner).choice((*NAMES, "", ""))

    def change(self, store: EmbeddedStore, rng: Rng) -> None:
        """A queue gets other limits, another guarantee, another policy."""
        if self._there:
            name = rng.choice(sorted(self._there))
            store.patch(QUEUE, [Patch("", name, {"spec": _spec(name, rng)})])

    def drop(self, store: EmbeddedStore, rng: Rng) -> None:
        """A queue is deleted, used or not."""
        if self._there:
            name = rng.choice(sorted(self._there))
            self._there.discard(name)
            store.delete(QUEUE, [Deletion("", name)])

    def remake(self, store: EmbeddedStore, rng: Rng) -> None:
        """A queue that was deleted is made again."""
        gone = [name for name in NAMES if name not in self._there]
        if gone:
            self._make(store, rng.choice(gone), rng)

    def lift(self, store: EmbeddedStore) -> None:
        """All queues exist, without limits and guarantees: what fits may be placed."""
        if not self.exist:
            return
        free: dict[str, Any] = {"limit": None, "guarantee": None, "maxRunningUnits": None}
        for name in NAMES:
            if name not in self._there:
                self._make(store, name, Rng(self._seed).child("lift", name))
            store.patch(QUEUE, [Patch("", name, {"spec": {**free, "policy": "FifoSkip"}})])

    def _make(self, store: EmbeddedStore, name: str, rng: Rng) -> None:
        meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
        body = msgspec.json.encode({**meta, "spec": _spec(name, rng)})
        (reply,) = store.create(QUEUE, [body])
        if reply.outcome is not WriteOutcome.OK and reply.code is not StatusReason.ALREADY_EXISTS:
            raise AssertionError(f"the store refused a queue: {reply.message}")
        self._there.add(name)


def _spec(name: str, rng: Rng) -> dict[str, Any]:
    """What a queue says; whatever it does not say is taken away."""
    limit = rng.choice((None, 500, 1000, 2000, 4000))
    owed = rng.choice((None, None, 500, 1000))
    owed = None if limit is not None and owed is not None and owed > limit else owed
    return {
        "parent": PARENTS.get(name, ""),
        "policy": rng.choice(("FifoSkip", "FifoSkip", "FIFO", "Priority", "DRF", "Easy")),
        "limit": {"cpu": f"{limit}m"} if limit is not None else None,
        "guarantee": {"cpu": f"{owed}m"} if owed is not None else None,
        "maxRunningUnits": rng.choice((None, None, None, 1, 3)),
    }


class QueueLaw:
    """Law 5, step by step."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        #: How often a queue was looked at.
        self.looks: int = 0
        self._specs: dict[str, QueueSpec] = {}
        self._rows: set[str] = set()
        #: Queues where a limit was lowered, or others bound pods, while units were at shards.
        self._excused: set[str] = set()
        #: Queues, and those above them, of which something was at a shard after the last step.
        self._busy: set[str] = set()

    def follow_plane(self) -> None:
        """A new plane: it finds what there is."""
        self._specs, self._rows = {}, set()
        self._excused = set(NAMES)

    def breaches(
        self, plane: Plane, pods: Iterable[tuple[str, str, str, int]], fresh: set[str]
    ) -> Iterator[InvariantBreach]:
        """Limits that the claims of a step have broken.

        Args:
            plane: what was known when they were made.
            pods: (uid, queue, unit, milli-CPU) of the pods that hold something, as made.
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
                yield InvariantBreach(
                    5, f"queue {name}: {used[name]}m claimed, {most}m is the limit"
                )
            runs = spec.max_running_units
            if runs is not None and len(units[name]) > runs and new[name] - self._ran(holding, now):
                yield InvariantBreach(5, f"queue {name}: {len(units[name])} units run, {runs} may")
        self._rows, self._specs = now, known

    def _ran(self, holding: Iterable[tuple[str, str, str, int]], now: set[str]) -> set[str]:
        """Units of which something ran before this step."""
        return {unit for uid, _, unit, _ in holding if uid in self._rows and uid in now}

    def _excuse(self, plane: Plane, known: dict[str, QueueSpec], bound: set[str]) -> None:
        """What was handed out before a change is measured by what was known then."""
        away = {unit.queue for unit in plane.units if unit.state is UnitState.DISPATCHED}
        busy = {name for queue in away for name in _above(queue, known)}
        self._excused &= busy | self._busy  # what was at a shard may have been granted just now
        self._busy = busy
        changed = {n for n in NAMES if known.get(n) != self._specs.get(n)}
        for name in (*changed, *bound):
            changed.update(_above(name, known), _above(name, self._specs))
        self._excused |= changed


def _above(queue: str, known: dict[str, QueueSpec]) -> list[str]:
    """A queue and those that it is part of, as far as they exist."""
    found = []
    while queue in known and queue not in found:
        found.append(queue)
        queue = known[queue].parent
    return found


def holding(plane: Plane, world: Any) -> Iterator[tuple[str, str, str, int]]:
    """The pods that hold something, by what the world made them of."""
    pods = plane.cluster.pods
    for row in pods.rows().tolist():
        member = world.members.get(pods.uid[row])
        if int(pods.state[row]) in _HOLDING and member is not None:
            role = member.role
            queue = role.queue or ("" if role.foreign else "default")
            cpu = 0 if member.ask.best_effort else member.ask.cpu
            yield pods.uid[row], queue, role.group or role.owner or pods.uid[row], cpu
