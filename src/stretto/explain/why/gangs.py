"""How much of a gang fits now: how many pending pods fit together, and what the next one lacks.

The profile's kernels place the pods on a private snapshot, with the attempts of a shard. Whether
the gang fits an empty cluster is an exact search over amounts: a gang is too big only if no
assignment of its members to nodes exists.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.base.rng import Rng
from stretto.explain.why.inquiry import Inquiry, NearFacts
from stretto.explain.why.remedies.gang_capacity import capacity_for_gang
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.scene import Scene
from stretto.explain.words.amounts import format_count
from stretto.explain.words.standing import UnitFacts
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.placers import Placer, PlacerFactory
from stretto.state.queries.gang_attempts import (
    NodeAmounts,
    gang_amounts,
    idle_amounts,
    kinds_of,
    orders_of_rows,
)
from stretto.state.queries.packing import PackingProblem, pack

TRIED: Final = 512
"""Upper bound of the members tried, so that 20,000 nodes stay fast."""


class GangFacts(msgspec.Struct, frozen=True):
    """How much of a gang fits now."""

    #: Pods that must still be placed together.
    needed: int
    #: Pending pods that were tried.
    tried: int
    #: Number of them that fit together now.
    fitting: int
    #: Number of them that would fit on the whole cluster if it were empty.
    fitting_if_empty: int
    #: The first member that does not fit after the others, as ``namespace/name``; empty for none.
    next_pod: str
    #: The node closest to fitting it, with the shortage; ``None`` if all fit.
    next_lacks: NearFacts | None
    #: Remedies.
    cures: tuple[Remedy, ...]


class GangFit(NamedTuple):
    """How many members fit."""

    #: Members tried.
    tried: int
    #: Members that fit together now.
    fitting: int
    #: Rows of the others.
    misfits: Sequence[int]
    #: Whether not even the empty cluster holds the gang.
    too_big: bool


def gang_of(scene: Scene, row: int, unit: UnitFacts | None) -> GangFacts | None:
    """How much of a pod's gang fits; ``None`` if no pods must start together."""
    if unit is None or not unit.is_gang or unit.min_member is None or not unit.still_needed:
        return None
    rows = scene.notes.members(row)[:TRIED]
    if not rows:
        return None
    runtime = PlacerFactory(scene.engine, "numpy").new(Rng(0))
    runtime.sync()
    count, needed = len(rows), min(unit.still_needed, len(rows))
    misfits = _misfits(scene, runtime, rows, needed)
    near, next_pod = None, ""
    if len(misfits):
        missing = misfits[0]
        next_pod = scene.cluster.pods.key(missing)
        pod = scene.cluster.classes[int(scene.cluster.pods.class_id[missing])]
        slots = scene.cluster.nodes.live_slots()
        view = runtime.view if isinstance(runtime, Runtime) else scene.view()
        closest = Inquiry(scene.rules(missing)[0], pod, view, slots).nearest(1)
        near = closest[0] if closest else None
    fitting, if_empty = count - len(misfits), _fit_when_empty(scene, rows)
    fit = GangFit(count, fitting, misfits, if_empty < needed)
    return GangFacts(
        needed=unit.still_needed,
        tried=count,
        fitting=fitting,
        fitting_if_empty=if_empty,
        next_pod=next_pod,
        next_lacks=near,
        cures=_cures(scene, unit, runtime, fit),
    )


def _misfits(scene: Scene, runtime: Placer, rows: Sequence[int], needed: int) -> list[int]:
    """The pods that stay without a node, after the others were placed on the snapshot."""
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
    return request(first, [1] * count, range(count + 1))


def _fit_when_empty(scene: Scene, rows: Sequence[int]) -> int:
    """How many pods of a gang fit together on an empty cluster, by amounts and node rules.

    Where the search reaches its limit, the pods count as fitting.
    """
    problem = _empty_cluster(scene, rows)
    least, most = 0, len(rows)
    while least < most:
        tried = (least + most + 1) // 2
        found = pack(problem, tried)
        if found.nodes is not None or not found.is_proven:
            least = tried
        else:
            most = tried - 1
    return least


def _empty_cluster(scene: Scene, rows: Sequence[int]) -> PackingProblem:
    """The members of a gang and every node without its pods; each host port is one more amount."""
    cluster = scene.cluster
    slots, view = cluster.nodes.live_slots(), scene.view()
    kinds = kinds_of(cluster.pods.class_id[np.array(rows, np.int64)])
    idle = idle_amounts(cluster)
    here = NodeAmounts(idle.free[:, slots], idle.device_free[slots], idle.device_kind[slots])
    need, free = gang_amounts(cluster, kinds.ids, here)
    classes = [cluster.classes[class_id] for class_id in kinds.ids.tolist()]
    eligible = np.stack(
        [
            Inquiry(scene.rules(rows[members[0]])[0], pod, view, slots).fits_when_empty()
            for pod, members in zip(classes, kinds.members, strict=True)
        ]
    )
    ports = sorted({port for pod in classes for port in pod.ports})
    requested = np.array([[port in pod.ports for port in ports] for pod in classes])
    need = _beside(need, requested.reshape(len(classes), len(ports)).astype(np.int64))
    free = _beside(free, np.ones((len(slots), len(ports)), np.int64))
    return PackingProblem(free, need, eligible, kinds.counts)


def _beside(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([left, right], axis=1)


def _cures(scene: Scene, unit: UnitFacts, runtime: Placer, fit: GangFit) -> tuple[Remedy, ...]:
    """What would start the gang: missing pods, a smaller minimum, or capacity in all."""
    assert unit.min_member is not None
    found = []
    absent = unit.min_member - unit.placed - unit.waiting
    if absent > 0 and fit.fitting == fit.tried:
        sentence = f"Creating {format_count(absent, 'more pod')} of its gang would complete it."
        found.append(Remedy(CureKind.MEMBERS, sentence, amount=absent))
    fewer = unit.placed + fit.fitting
    if fit.fitting and fewer < unit.min_member:
        sentence = f"Setting minMember to {fewer} instead of {unit.min_member} would start it now."
        found.append(Remedy(CureKind.MIN_MEMBER, sentence, amount=fewer))
    lacking = unit.still_needed - fit.fitting
    if absent <= 0 and not fit.too_big and lacking > 0 and isinstance(runtime, Runtime):
        capacity = capacity_for_gang(scene, runtime.view, fit.misfits[:lacking])
        found += [capacity] if capacity is not None else []
    together = f"{format_count(unit.still_needed, 'pod')} must fit at the same time."
    return (*found, Remedy(CureKind.EVENT, together))
