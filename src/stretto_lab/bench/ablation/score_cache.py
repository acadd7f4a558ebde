"""The ablation bench: the gain of each optimisation over its plain counterpart.

Each part is measured twice: alone (microseconds of the part), and in the whole engine (CPU time per
pod from JSON to bind, alternating rounds, medians), because a part that is a thousand times faster
may be one percent of the total work. The results of both variants are compared before they are
measured.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from statistics import median
from typing import Final

import numpy as np

from stretto.api.wire.kinds import NODE
from stretto.base.errors import CheckFailedError
from stretto.base.rng import Rng
from stretto.framework.compiled.placement import PlacementRequest
from stretto.inputs.objects.objects import node_body
from stretto.state.rows.slots import SlotMap
from stretto.state.rows.snapshot import Columns
from stretto.stores.store import Deletion
from stretto_lab.bench.ablation.plain import (
    CopyingRuntime,
    PlainNodeList,
    ScanningRuntime,
    whole_copy,
)
from stretto_lab.bench.ablation.scene import Ablation, AblationOptions, AblationScene, scene_time
from stretto_lab.bench.engine.objects import SUBMIT
from stretto_lab.studies.omega.shards import ShardStudy, shard_points

BATCHES: Final = 20
"""Batches placed on a snapshot, a pod of each class, before the snapshot is reset."""
MANY: Final = 100
"""Node changes between two readings of the clock."""
CHECKED: Final = 64
"""Classes whose scores are compared with the reference."""
COLUMNS: Final = ("free", "alloc", "live", "generation", "ports", "device_free", "census")
"""Columns in which snapshots are compared."""

Measure = Callable[["AblationScene"], "list[Ablation]"]
"""Function that measures one part on a scene."""


def run_ablation(options: AblationOptions, more: Sequence[Measure] = ()) -> list[Ablation]:
    """Measure every part; ``more`` contains further measurements.

    Raises:
        CheckFailedError: the results of a part and its counterpart differ.
    """
    scene = AblationScene(options)
    found = [*snapshots(scene), node_list(scene), *class_cache(scene)]
    for measure in more:
        found += measure(scene)
    return [*found, shards(options)]


def snapshots(scene: AblationScene) -> list[Ablation]:
    """A snapshot that is updated by the change log, compared with a full copy."""
    columns, ledger = scene.runtime.columns, scene.plane.cluster.ledger
    columns.sync()
    if not same_snapshot(columns, whole_copy(ledger)):
        raise CheckFailedError("the snapshot", "the incremental one differs from a copy")
    live = np.flatnonzero(ledger.slots.live)
    draw = Rng(scene.ablation.seed).child("changes").numpy()
    found = []
    for changes in (1, SUBMIT):
        slots = draw.choice(live, min(changes, len(live)), replace=False).tolist()

        turn = cycle((1, -1))

        def change(slots: list[int] = slots, turn: Iterator[int] = turn) -> None:
            sign = next(turn)  # charge and refund alternate; an even number has no effect
            for slot in slots:
                ledger.charge(slot, [(0, 1)], sign)

        fast = scene_time(columns.sync, change)
        plain = scene_time(lambda: whole_copy(ledger), change)
        found.append((changes, fast, plain))
    columns.sync()
    copying = CopyingRuntime(scene.runtime)
    whole = scene.compare(scene.runtime, "sync", copying.sync)
    (_, one, one_plain), (_, many, many_plain) = found
    words = "Snapshot by the change log", "a copy of the whole ledger"
    return [
        Ablation(*words, "sync after one pod", one, one_plain),
        Ablation(*words, "sync after 1,024 pods", many, many_plain, *whole),
    ]


def node_list(scene: AblationScene) -> Ablation:
    """Slots by zone, compared with a list in zone order that is rebuilt."""
    slots, plain = SlotMap(), PlainNodeList()
    held = {node.name: slots.add(node.zone) for node in scene.objects.nodes}
    plain.fill((node.name, node.zone) for node in scene.objects.nodes)
    if set(plain.order) != set(held) or int(slots.live.sum()) != len(plain.order):
        raise CheckFailedError("the node list", "slots and the plain list differ")
    nodes = cycle(scene.objects.nodes)

    def fast_changes() -> None:
        for node in islice(nodes, MANY):  # a single change is below the resolution of the clock
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
        "Slots by zone", "a rebuilt list of nodes", "node added or removed",
        fast, slow, whole, whole_plain,
    )  # fmt: skip


def class_cache(scene: AblationScene) -> list[Ablation]:
    """Scores cached by class, compared with scoring every node for every pod."""
    runtime = scene.runtime
    runtime.sync()
    classes = scene.classes()
    for class_id in classes[:: max(1, len(classes) // CHECKED)]:
        if not np.array_equal(runtime.row(class_id), runtime.reference_row(class_id)):
            raise CheckFailedError("the class cache", f"class {class_id} has a different row")
    scanning = ScanningRuntime(runtime)
    count = len(classes)
    marks, ones = list(range(count + 1)), [1] * count
    placed: list[int] = []

    def place(ids: list[int]) -> None:
        slots = runtime.place(PlacementRequest(ids, marks, ones)).slots
        placed.extend(slots[slots >= 0].tolist())

    def reset() -> None:
        scene.plane.cluster.ledger.touch(placed)  # no claim was committed
        placed.clear()
        runtime.sync()

    in_turn = scene_time(lambda: place(classes), samples=BATCHES) / count
    reset()
    repeated = scene_time(lambda: place(classes[:1] * count), samples=BATCHES) / count
    reset()
    plain = scene_time(lambda: place(classes), scanning.forget, samples=BATCHES) / count
    reset()
    whole = scene.compare(runtime, "place", scanning.place)
    words = "Scores cached by class", "every node scored for every pod"
    return [
        Ablation(*words, "pod of the same class", repeated, plain),
        Ablation(*words, f"pod of one of {count} classes in turn", in_turn, plain, *whole),
    ]


def shards(options: AblationOptions) -> Ablation:
    """Eight shards with decisions of 10 ms, compared with one: virtual time, then CPU time."""
    study = ShardStudy(
        nodes=options.nodes,
        pods=options.pods,
        shards=(1, 8),
        decisions_s=(0.01,),
        policies=("default",),
        seed=options.seed,
    )
    took = {(e.shards, e.partitions): 1e6 * e.took_s / e.placed for e in shard_points(study)}
    one, eight = AblationScene(options), AblationScene(options, shards=8)
    rounds = [(eight.round(), one.round()) for _ in range(options.rounds)]
    return Ablation(
        "Eight shards, decisions of 10 ms", "one shard", "pod (virtual time)",
        took[8, True], took[1, False],
        median(each for each, _ in rounds), median(each for _, each in rounds),
    )  # fmt: skip


def _with_churn(scene: AblationScene, plain: PlainNodeList) -> tuple[float, float]:
    """Rounds with a node recreated every 64 pods, without and with the plain list."""
    last = scene.objects.nodes[-1]
    body = node_body(last)

    def churn() -> None:
        scene.objects.store.delete(NODE, [Deletion("", last.name)])
        scene.objects.store.create(NODE, [body])

    def churn_and_list() -> None:
        churn()
        plain.remove(last.name)
        plain.add(last.name, last.zone)

    fast, slow = [], []
    for _ in range(scene.ablation.rounds):
        fast.append(scene.round(at_once=64, before=churn))
        slow.append(scene.round(at_once=64, before=churn_and_list))
    return median(fast), median(slow)


def same_snapshot(one: Columns, other: Columns) -> bool:
    """True if two snapshots have equal columns."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)
