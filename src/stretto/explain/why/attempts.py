"""Attempts to place the pods of a gang together, on private snapshots, as a shard does."""

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import NamedTuple

import numpy as np

from stretto.base.rng import Rng
from stretto.explain.why.nodes.gang_domains import Mask
from stretto.explain.why.scene import Scene
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.placers import Placer, PlacerFactory
from stretto.state.queries.gang_attempts import orders_of_rows
from stretto.state.queries.numa_after import without_rows


class GangMembers(NamedTuple):
    """The pods of a gang that need nodes."""

    #: Rows of the pending pods.
    rows: Sequence[int]
    #: Number of these pods that must be placed together.
    needed: int
    #: One bool[slot] per domain in which the gang may be placed.
    domains: Sequence[Mask]
    #: True if caps limit its pods by domain.
    are_capped: bool


def best_attempt(
    scene: Scene, rows: Sequence[int], needed: int, domains: Sequence[Mask]
) -> tuple[Placer, list[int], Mask]:
    """Return snapshot, unplaced pods and domain of the attempt that places the most pods."""
    factory = PlacerFactory(scene.engine, "numpy", scene.units)
    best: tuple[Placer, list[int], Mask] | None = None
    for mask in domains:
        runtime = factory.new(Rng(0))
        runtime.sync()
        inside = runtime.confined(mask) if isinstance(runtime, Runtime) else nullcontext()
        with inside:
            misfits = misfits_of(scene, runtime, rows, needed)
        if best is None or len(misfits) < len(best[1]):
            best = runtime, misfits, mask
        if not misfits:
            break
    if best is None:  # no node has the labels that the group requires
        return factory.new(Rng(0)), list(rows), np.zeros(scene.cluster.nodes.size, np.bool_)
    return best


def misfits_of(scene: Scene, runtime: Placer, rows: Sequence[int], needed: int) -> list[int]:
    """Return the pods that stay without a node after the others were placed on the snapshot."""
    pods = scene.cluster.pods
    count = len(rows)

    def request(order: Sequence[int], at_least: Sequence[int], starts: Sequence[int]) -> list[int]:
        classes = pods.class_id[np.array(order, np.int64)]
        placed = runtime.place(PlacementRequest(classes, starts, at_least, rows=order))
        return [row for row, slot in zip(order, placed.slots.tolist(), strict=True) if slot < 0]

    together = request(rows, [needed], [0, count])
    if count - len(together) >= needed:
        return together
    first = next(orders_of_rows(scene.cluster, rows))
    return request(first, [1], [0, count])  # one unit, so that its caps by domain count all pods


def places_without(scene: Scene, members: GangMembers, removed: Sequence[int]) -> bool:
    """Return whether a shard's attempts place the gang after some pods are removed."""
    cluster, rows = scene.cluster, members.rows
    slots = cluster.pods.slot[np.array(removed, np.int64)].tolist()
    with ExitStack() as stack:
        for slot in set(slots):
            here = [row for row, where in zip(removed, slots, strict=True) if where == slot]
            stack.enter_context(without_rows(cluster, slot, here))
        for domain in members.domains:
            placer = PlacerFactory(scene.engine, "numpy", scene.units).new(Rng(0))
            placer.sync()
            with ExitStack() as inside:
                if isinstance(placer, Runtime):
                    placer.make_ready(np.unique(cluster.pods.class_id[np.array(rows, np.int64)]))
                    inside.enter_context(placer.between.without(removed))
                    inside.enter_context(placer.confined(domain))
                elif isinstance(placer, ParityRuntime):
                    inside.enter_context(placer.follower.without(set(removed)))
                misfits = misfits_of(scene, placer, rows, members.needed)
            if len(rows) - len(misfits) >= members.needed:
                return True
    return False
