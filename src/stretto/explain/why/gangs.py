"""How far a gang would come now: how many waiting pods fit together, and what the next lacks.

The pods are placed by the profile's own kernels on a private snapshot, one after another.
"""

from typing import Final

import msgspec
import numpy as np

from stretto.base.rng import Rng
from stretto.explain.why.cures import Remedy
from stretto.explain.why.inquiry import Inquiry, NearFacts
from stretto.explain.why.scene import Scene
from stretto.explain.words.amounts import format_count
from stretto.explain.words.standing import UnitFacts
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.framework.placers import PlacerFactory

TRIED: Final = 512
"""Members that are tried: enough for a sentence, and at 20,000 nodes still quick."""


class GangFacts(msgspec.Struct, frozen=True):
    """A gang as it would fit now."""

    #: Pods that must still be placed together.
    needed: int
    #: Waiting pods that were tried.
    tried: int
    #: Of them, how many fit together now.
    fitting: int
    #: How many would fit on the whole cluster if it were empty.
    fitting_if_empty: int
    #: The first member that finds no node beside the others, as ``namespace/name``; empty for none.
    next_pod: str
    #: The node that comes closest for it, and what is missing there; ``None`` where all fit.
    next_lacks: NearFacts | None
    #: What would help.
    cures: tuple[Remedy, ...]


def gang_of(scene: Scene, row: int, unit: UnitFacts | None) -> GangFacts | None:
    """How far a pod's gang would come; ``None`` where nothing must start together."""
    if unit is None or not unit.is_gang or unit.min_member is None or not unit.still_needed:
        return None
    rows = scene.notes.members(row)[:TRIED]
    if not rows:
        return None
    runtime = PlacerFactory(scene.engine, "numpy").new(Rng(0))
    runtime.sync()
    classes = scene.cluster.pods.class_id[np.array(rows, np.int64)]
    count = len(rows)
    placed = runtime.place(PlacementRequest(classes, range(count + 1), [1] * count, rows=rows))
    misfits = np.flatnonzero(placed.slots < 0)
    near, next_pod = None, ""
    if len(misfits):
        missing = rows[int(misfits[0])]
        next_pod = scene.cluster.pods.key(missing)
        pod = scene.cluster.classes[int(scene.cluster.pods.class_id[missing])]
        slots = scene.cluster.nodes.live_slots()
        view = runtime.view if isinstance(runtime, Runtime) else scene.view()
        closest = Inquiry(scene.rules(missing)[0], pod, view, slots).nearest(1)
        near = closest[0] if closest else None
    fitting = count - len(misfits)
    return GangFacts(
        needed=unit.still_needed,
        tried=count,
        fitting=fitting,
        fitting_if_empty=_fit_when_empty(scene, row, count),
        next_pod=next_pod,
        next_lacks=near,
        cures=tuple(_cures(unit, fitting, near)),
    )


def _fit_when_empty(scene: Scene, row: int, most: int) -> int:
    """How many pods of the same class an empty cluster would hold, up to ``most``."""
    pod = scene.cluster.classes[int(scene.cluster.pods.class_id[row])]
    view = scene.view()
    columns = view.columns
    slots = scene.cluster.nodes.live_slots()
    allowed = Inquiry(scene.rules(row)[0], pod, view, slots)
    here = slots[~allowed.never]
    room = np.full(len(here), most, np.int64)
    ledger = columns.ledger
    for column, amount in pod.requests:
        if amount > 0:
            room = np.minimum(room, ledger.alloc[here, column] // amount)
    for number, request in enumerate(pod.devices):
        kind = ledger.devices.kind_number(request.kind)
        models = ledger.devices.model_mask(request.models)
        right = (columns.device_kind[here] == kind) & (
            (np.int64(models) >> columns.device_model[here].astype(np.int64)) & 1 == 1
        )
        each = request.count if request.milli == 1000 else 1
        share = 1 if request.milli == 1000 else 1000 // request.milli
        room = np.minimum(room, right.sum(axis=1) * share // each)
        del number
    if pod.ports:
        room = np.minimum(room, 1)
    return min(most, int(room.sum()))


def _cures(unit: UnitFacts, fitting: int, near: NearFacts | None) -> list[Remedy]:
    found = []
    if near is not None and near.lacks:
        parts = " and ".join(lack.text for lack in near.lacks)
        found.append(
            Remedy("room", f"The next member is closest on {near.node}: {parts}.", near.node)
        )
    if 0 < unit.placed + fitting < (unit.min_member or 0):
        fewer = unit.placed + fitting
        sentence = f"A minMember of {fewer} instead of {unit.min_member} would start now."
        found.append(Remedy("gang", sentence, amount=fewer))
    found.append(
        Remedy("event", f"{format_count(unit.still_needed, 'pod')} must find room at one time.")
    )
    return found
