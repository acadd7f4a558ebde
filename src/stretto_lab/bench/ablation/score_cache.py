"""The ablation bench: each optimisation replaced by its plain counterpart, and what it was worth.

Every part is measured twice: by itself (the microseconds of the part alone), and in the whole
engine (CPU time of a pod from JSON in hand to bound, rounds of both kinds in turn, medians),
because a part that is a thousand times faster may be a hundredth of the work. Answers of both are
compared before anything is timed.
"""

import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from statistics import median
from typing import Any, Final

import msgspec
import numpy as np

from stretto.api.wire.kinds import NODE, POD
from stretto.base import collector
from stretto.base.clock import WallClock
from stretto.base.errors import CheckFailedError
from stretto.base.rng import Rng
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.inputs.objects.objects import node_body
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.scenario.workloads import synthetic_nodes
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.rows.slots import SlotMap
from stretto.state.rows.snapshot import Columns
from stretto.state.work.claims import Plan
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Deletion, Record
from stretto_lab.bench.ablation.plain import (
    CopyingRuntime,
    PlainNodeList,
    ScanningRuntime,
    whole_copy,
)
from stretto_lab.studies.omega.shards import ShardStudy, run_shard_study

ZONES: Final = 10
"""Zones of the nodes."""
SUBMIT: Final = 1024
"""Pods created in one call."""
LOOKS: Final = 200
"""Times that a part is timed by itself."""
BATCHES: Final = 20
"""Batches placed on a snapshot, a pod of each class, before it is put right."""
MANY: Final = 100
"""Nodes that come and go between two looks at the clock."""
CHECKED: Final = 64
"""Classes whose scores are compared with the rules' own."""
COLUMNS: Final = ("free", "alloc", "live", "generation", "ports", "device_free", "census")
"""Columns by which snapshots are compared."""


def _nothing() -> None:
    """Nothing to do before."""


Measure = Callable[["AblationScene"], "list[Ablation]"]
"""Measures one part on a scene."""


class AblationOptions(msgspec.Struct, frozen=True):
    """What to measure on."""

    #: Nodes.
    nodes: int = 5000
    #: Running pods for each node.
    running_per_node: int = 20
    #: Pods of one round in the whole engine.
    pods: int = 2048
    #: Different classes among them.
    classes: int = 200
    #: Rounds of each kind; medians are reported.
    rounds: int = 3
    #: Seed of every draw.
    seed: int = 0


class Ablation(msgspec.Struct, frozen=True):
    """One part beside its plain counterpart."""

    #: The optimisation.
    part: str
    #: What it is replaced by.
    plain: str
    #: What one of it is: a look, a pod, a change.
    each: str
    #: Microseconds of the part as it is.
    fast_us: float
    #: Microseconds of its counterpart.
    plain_us: float
    #: CPU microseconds a pod in the whole engine as it is; null where it is not in a pod's way.
    whole_us: float | None = None
    #: The same with the counterpart in place.
    whole_plain_us: float | None = None

    @property
    def factor(self) -> float:
        """How many times the part is faster by itself."""
        return self.plain_us / self.fast_us

    @property
    def whole_factor(self) -> float | None:
        """How many times the whole engine is faster."""
        if self.whole_us is None or self.whole_plain_us is None:
            return None
        return self.whole_plain_us / self.whole_us


class AblationScene:
    """A plane over a cluster with running pods, and a source of pods."""

    def __init__(self, asked: AblationOptions, shards: int = 1) -> None:
        """Set it up, and see each class once, as a server that has been up for a while."""
        #: What was asked.
        self.asked = asked
        #: Wall time.
        self.clock = WallClock()
        rng = Rng(asked.seed)
        spec = TemplateSpec(classes=asked.classes, constrained=0.3, zones=ZONES)
        self._templates = PodTemplates(spec, rng.child("pods"))
        #: Where the objects live.
        self.store = MemoryStore(self.clock, rng.child("store"), 8192)
        #: The nodes.
        self.nodes = synthetic_nodes(asked.nodes, rng.child("fleet"), zones=ZONES)
        self.store.create(NODE, [node_body(node) for node in self.nodes])
        self._let_run(asked.nodes * asked.running_per_node)
        config = PlaneConfig(profile=load_profile("default"), seed=asked.seed, shards=shards)
        #: The scheduler.
        self.plane = Plane(config, self.store, self.clock)
        self.plane.run_until_idle()
        self._made = 0
        self.round(pods=max(asked.pods, 2 * asked.classes))
        collector.settle()

    @property
    def runtime(self) -> Runtime:
        """The first shard's engine and snapshot."""
        runtime = self.plane.shards[0].default.runtime
        assert isinstance(runtime, Runtime)  # the default profile's
        return runtime

    def classes(self) -> list[int]:
        """Classes that have pods."""
        return [c for c, users in enumerate(self.plane.cluster.classes.users) if users]

    def admitting(self, class_id: int) -> list[int]:
        """Slots whose node's own facts let a class on."""
        engine, slots = self.plane.engine, self.plane.cluster.nodes.live_slots()
        return [slot for slot in slots.tolist() if engine.is_eligible(class_id, slot)]

    def empty_plan(self) -> Plan:
        """The plan of a cycle that places nothing."""
        none, few = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return Plan(
            shard=0, rows=none, serials=none, slots=few, generations=none, versions=none,
            devices=few, units=[], setbacks=[],
        )  # fmt: skip

    def round(
        self, *, pods: int = 0, at_once: int = SUBMIT, before: Callable[[], None] = _nothing
    ) -> float:
        """Place pods and take them away; CPU microseconds of placing one.

        Args:
            pods: how many; by default what was asked for.
            at_once: pods written between two steps of the plane.
            before: called before each of these steps; its time counts.
        """
        bodies = self._templates.bodies(pods or self.asked.pods)
        first, self._made = self._made, self._made + len(bodies)
        start = _cpu_seconds()
        for low in range(0, len(bodies), at_once):
            before()
            self.store.create(POD, bodies[low : low + at_once])
            self.plane.step()
        self.plane.run_until_idle()
        took = _cpu_seconds() - start
        gone = [Deletion("default", f"pod-{number:07d}") for number in range(first, self._made)]
        self.store.delete(POD, gone)
        self.plane.run_until_idle()
        return 1e6 * took / len(bodies)

    def compare(self, owner: Any, method: str, plain: Callable[..., Any]) -> tuple[float, float]:
        """Median rounds as it is and with one method of one object replaced, in turn."""
        fast, slow = [], []
        for _ in range(self.asked.rounds):
            fast.append(self.round())
            with replaced(owner, method, plain):
                slow.append(self.round())
        return median(fast), median(slow)

    def _let_run(self, count: int) -> None:
        bodies, names = self._templates.class_bodies, [node.name for node in self.nodes]
        chosen = self._templates.running_classes(count).tolist()
        self.store.seed(
            Record(
                POD, "default", f"run-{i:07d}", f"u-{i:07d}", 1, bodies[c], names[i % len(names)]
            )
            for i, c in enumerate(chosen)
        )


def run_ablation(asked: AblationOptions, more: Sequence[Measure] = ()) -> list[Ablation]:
    """Measure every part; ``more`` are measures of their own files.

    Raises:
        CheckFailedError: a part and its counterpart do not answer the same.
    """
    scene = AblationScene(asked)
    found = [*snapshots(scene), node_list(scene), *class_cache(scene)]
    for measure in more:
        found += measure(scene)
    return [*found, shards(asked)]


def snapshots(scene: AblationScene) -> list[Ablation]:
    """A snapshot that follows the change log, against one that is copied anew."""
    columns, ledger = scene.runtime.columns, scene.plane.cluster.ledger
    columns.sync()
    if not same_snapshot(columns, whole_copy(ledger)):
        raise CheckFailedError("the snapshot", "what followed the log differs from a copy")
    live = np.flatnonzero(ledger.slots.live)
    draw = Rng(scene.asked.seed).child("changes").numpy()
    found = []
    for changes in (1, SUBMIT):
        slots = draw.choice(live, min(changes, len(live)), replace=False).tolist()

        turn = cycle((1, -1))

        def change(slots: list[int] = slots, turn: Iterator[int] = turn) -> None:
            sign = next(turn)  # charged and given back in turn: an even number leaves no trace
            for slot in slots:
                ledger.charge(slot, [(0, 1)], sign)

        fast = scene_time(columns.sync, change)
        plain = scene_time(lambda: whole_copy(ledger), change)
        found.append((changes, fast, plain))
    columns.sync()
    copying = CopyingRuntime(scene.runtime)
    whole = scene.compare(scene.runtime, "sync", copying.sync)
    (_, one, one_plain), (_, many, many_plain) = found
    words = "Snapshot by the change log", "the whole ledger copied"
    return [
        Ablation(*words, "look after one pod", one, one_plain),
        Ablation(*words, "look after 1,024 pods", many, many_plain, *whole),
    ]


def node_list(scene: AblationScene) -> Ablation:
    """Slots by zone, against a list in the order of zones that is made anew."""
    slots, plain = SlotMap(), PlainNodeList()
    held = {node.name: slots.add(node.zone) for node in scene.nodes}
    plain.fill((node.name, node.zone) for node in scene.nodes)
    if set(plain.order) != set(held) or int(slots.live.sum()) != len(plain.order):
        raise CheckFailedError("the node list", "slots and the plain list hold other nodes")
    nodes = cycle(scene.nodes)

    def fast_changes() -> None:
        for node in islice(nodes, MANY):  # one alone is shorter than what a clock can tell
            slots.remove(held[node.name])
            held[node.name] = slots.add(node.zone)

    def plain_change() -> None:
        node = next(nodes)
        plain.remove(node.name)
        plain.add(node.name, node.zone)

    fast = scene_time(fast_changes) / (2 * MANY)
    slow = scene_time(plain_change) / 2
    whole, whole_plain = _with_churn(scene, plain)
    return Ablation(
        "Slots by zone", "the list of nodes made anew", "node that comes or goes",
        fast, slow, whole, whole_plain,
    )  # fmt: skip


def class_cache(scene: AblationScene) -> list[Ablation]:
    """Scores kept by class, against scores of every node for every pod: a pod of each class."""
    runtime = scene.runtime
    runtime.sync()
    classes = scene.classes()
    for class_id in classes[:: max(1, len(classes) // CHECKED)]:
        if not np.array_equal(runtime.row(class_id), runtime.reference_row(class_id)):
            raise CheckFailedError("the class cache", f"class {class_id} has another row")
    scanning = ScanningRuntime(runtime)
    count = len(classes)
    marks, ones = list(range(count + 1)), [1] * count
    placed: list[int] = []

    def place(ids: list[int]) -> None:
        slots = runtime.place(PlacementRequest(ids, marks, ones)).slots
        placed.extend(slots[slots >= 0].tolist())

    def put_right() -> None:
        scene.plane.cluster.ledger.touch(placed)  # nothing was claimed
        placed.clear()
        runtime.sync()

    in_turn = scene_time(lambda: place(classes), looks=BATCHES) / count
    put_right()
    alike = scene_time(lambda: place(classes[:1] * count), looks=BATCHES) / count
    put_right()
    plain = scene_time(lambda: place(classes), scanning.forget, looks=BATCHES) / count
    put_right()
    whole = scene.compare(runtime, "place", scanning.place)
    words = "Scores kept by class", "every node scored for every pod"
    return [
        Ablation(*words, "pod of the same class again", alike, plain),
        Ablation(*words, f"pod of one of {count} classes in turn", in_turn, plain, *whole),
    ]


def shards(asked: AblationOptions) -> Ablation:
    """Eight shards that take 10 ms for a decision, against one: virtual time, then real CPU."""
    study = ShardStudy(
        nodes=asked.nodes,
        pods=asked.pods,
        shards=(1, 8),
        decisions_s=(0.01,),
        policies=("default",),
        seed=asked.seed,
    )
    took = {(e.shards, e.partitions): 1e6 * e.took_s / e.placed for e in run_shard_study(study)}
    one, eight = AblationScene(asked), AblationScene(asked, shards=8)
    rounds = [(eight.round(), one.round()) for _ in range(asked.rounds)]
    return Ablation(
        "Eight shards, decisions of 10 ms", "one shard", "pod (virtual time)",
        took[8, True], took[1, False],
        median(each for each, _ in rounds), median(each for _, each in rounds),
    )  # fmt: skip


def _with_churn(scene: AblationScene, plain: PlainNodeList) -> tuple[float, float]:
    """Rounds in which a node goes and comes back every 64 pods, without and with the plain list."""
    last = scene.nodes[-1]
    body = node_body(last)

    def churn() -> None:
        scene.store.delete(NODE, [Deletion("", last.name)])
        scene.store.create(NODE, [body])

    def churn_and_list() -> None:
        churn()
        plain.remove(last.name)
        plain.add(last.name, last.zone)

    fast, slow = [], []
    for _ in range(scene.asked.rounds):
        fast.append(scene.round(at_once=64, before=churn))
        slow.append(scene.round(at_once=64, before=churn_and_list))
    return median(fast), median(slow)


def scene_time(
    act: Callable[[], object],
    before: Callable[[], None] = _nothing,
    looks: int = LOOKS,
) -> float:
    """Median CPU microseconds of an act; what goes before it is not counted."""
    times = []
    for _ in range(looks):
        before()
        start = _cpu_seconds()
        act()
        times.append(_cpu_seconds() - start)
    return 1e6 * median(times)


@contextmanager
def replaced(owner: Any, method: str, plain: Callable[..., Any]) -> Iterator[None]:
    """One method of one object replaced for a while, as a stopwatch does it."""
    setattr(owner, method, plain)
    try:
        yield
    finally:
        delattr(owner, method)


def same_snapshot(one: Columns, other: Columns) -> bool:
    """Whether two snapshots show the same."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)


def _cpu_seconds() -> float:
    """CPU time of this process so far, all threads, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
