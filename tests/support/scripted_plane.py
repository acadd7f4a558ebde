"""A plane driven by a script of events, with the laws checked after every step."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import check_all, gangs_are_complete
from stretto.state.rows.lifecycle import PodState
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.faulty.odds import NO_FAULTS, FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import Deletion, Patch, Store
from stretto.testing import make_group, make_node, make_pod

Move = tuple[str, int, int]
MOVES = (
    "pods", "pods", "gang", "node", "node", "lose", "shrink", "drop", "finish",
    "step", "step", "wait", "shard", "binder", "plane",
)  # fmt: skip
FORMS: list[dict[str, Any]] = [
    {"cpu": "500m"},
    {"cpu": "2", "priority": 10},
    {"cpu": "100m", "ports": [80]},
    {"cpu": "100m", "gpus": 1, "gpu_milli": 400},
    {"cpu": "100m", "gpus": 2},
    {"cpu": "1", "spec": {"nodeSelector": {"disk": "ssd"}}},
]
LOSSES = FaultOdds(lost_reply=0.15, lost_request=0.15, half_batch=0.1, refused_write=0.05)


class Voyage:
    """One store with one plane at a time."""

    def __init__(
        self,
        store: Store | None = None,
        clock: ManualClock | None = None,
        odds: FaultOdds = NO_FAULTS,
        **config: Any,
    ) -> None:
        self.clock = clock or ManualClock()
        self.inner: Store = store or MemoryStore(self.clock, Rng(0))
        self.store = FaultyStore(self.inner, Rng(5), odds, self.clock)
        self.config = PlaneConfig(
            **{"profile": load_profile("default"), "shards": 2, "tier": "numpy", **config}
        )
        self.broken: list[str] = []
        self.nodes_of: dict[str, str] = {}
        self.decisions: list[tuple[str, str]] = []
        self.requested: Counter[str] = Counter()
        self.plane = self.launch()

    def launch(self) -> Plane:
        plane = Plane(self.config, self.store, self.clock)
        plane.observers.append(self.look)
        return plane

    # ---------------------------------------------------------------- events

    def play(self, move: str, which: int, form: int) -> None:
        self.outside(move, which, form)
        if move == "step":
            self.plane.step()
        elif move == "wait":
            self.clock.advance(1.0 + which)
            self.plane.run_until_idle(50)
        elif move == "shard":
            self.plane.restart_shard(which % self.config.shards, self.clock.monotonic())
        elif move == "binder":
            self.plane.restart_binder(self.clock.monotonic())
        elif move == "plane":
            self.plane.close()
            self.plane = self.launch()
        self.check()

    def outside(self, move: str, which: int, form: int) -> None:
        """Events from users and machines, written to the store without faults."""
        name, more = f"{move}-{which}", FORMS[form % len(FORMS)]
        if move == "pods":
            self.inner.create(POD, [make_pod(f"{name}-{n}-{form}", **more) for n in range(form)])
        elif move == "gang":
            self.inner.create(POD_GROUP, [make_group(name, 1 + which % 4)])
            members = [make_pod(f"{name}-{n}", group=name, **more) for n in range(4)]
            self.inner.create(POD, members)
        elif move == "node":
            labels = {"disk": "ssd"} if which % 2 else {}
            zone, gpus = f"z{which % 3}", which % 4
            self.inner.create(NODE, [make_node(name, cpu="4", gpus=gpus, zone=zone, labels=labels)])
        elif move == "lose":
            self.inner.delete(NODE, [Deletion("", f"node-{which}")])
        elif move == "shrink":
            amounts = {"status": {"allocatable": {"cpu": str(1 + form), "pods": "9"}}}
            self.inner.patch_status(NODE, [Patch("", f"node-{which}", amounts)])
        elif move in ("drop", "finish"):
            self.some_pod(move, 7 * which + form)

    def some_pod(self, move: str, number: int) -> None:
        records = self.inner.list(POD).records
        if not records:
            return
        chosen = records[number % len(records)]
        if move == "drop":
            self.inner.delete(POD, [Deletion(chosen.namespace, chosen.name)])
        elif chosen.node:
            done = {"status": {"phase": "Succeeded"}}
            self.inner.patch_status(POD, [Patch(chosen.namespace, chosen.name, done)])

    def arrive(self) -> None:
        """Turn faults off and run until all retries are due."""
        self.store.heal()
        for _ in range(40):
            self.clock.advance(30.0)
            self.plane.run_until_idle()
        self.check()

    # ---------------------------------------------------------------- checks

    def look(self, step: Step) -> None:
        """Check laws 1 and 2 at each claim."""
        ledger = self.plane.cluster.ledger
        for plan, verdict in zip(step.plans, step.verdicts, strict=True):
            self.broken += [breach.what for breach in gangs_are_complete(plan, verdict)]
            granted = set(verdict.granted.tolist())
            for row, slot in zip(plan.rows.tolist(), plan.slots.tolist(), strict=True):
                if row in granted:
                    self.decisions.append(
                        (self.plane.cluster.pods.name[row], self.plane.cluster.nodes.names[slot])
                    )
                    if (ledger.used[slot] > ledger.alloc[slot]).any():
                        self.broken.append(f"slot {slot} is overcommitted")

    def check(self) -> None:
        """Check the ledgers, and law 3: a bound pod stays on its node."""
        self.broken += [breach.what for breach in check_all(self.plane.cluster)]
        self.broken += self.plane.dispatcher.audit()
        for record in self.inner.list(POD).records:
            if record.node and self.nodes_of.setdefault(record.uid, record.node) != record.node:
                self.broken.append(f"pod {record.name} was bound twice")

    def left_behind(self) -> list[str]:
        """Pending single pods that would fit."""
        cluster, runtime = self.plane.cluster, self.plane.shards[0].default.runtime
        runtime.sync()
        waiting = []
        for row in cluster.pods.rows().tolist():
            single = not cluster.pods.name[row].startswith("gang")
            waits = single and cluster.pods.state[row] not in (PodState.BOUND, PodState.GATED)
            if waits and runtime.capacity(int(cluster.pods.class_id[row])):
                waiting.append(cluster.pods.name[row])
        return waiting

    def part_gangs(self) -> list[str]:
        """Groups with bound pods, but fewer than their minimum."""
        bound: Counter[str] = Counter()
        for record in self.inner.list(POD).records:
            bound[record.name.rsplit("-", 1)[0]] += bool(record.node)
        return [
            name
            for name, group in self.plane.cluster.groups.items()
            if 0 < bound[name.split("/")[1]] < group.spec.min_member
        ]


def sailed(script: Iterable[Move], voyage: Voyage | None = None) -> Voyage:
    """Play a script to its end."""
    voyage = voyage or Voyage()
    for move in script:
        voyage.play(*move)
    voyage.arrive()
    return voyage


def fixed_script(seed: int, length: int = 40) -> Sequence[Move]:
    """A script that depends only on the seed."""
    rng = Rng(seed)
    return [
        (MOVES[rng.randint(0, len(MOVES) - 1)], rng.randint(0, 6), rng.randint(0, 5))
        for _ in range(length)
    ]
