"""Every pod that waits, counted by why: by columns, so that a million of them cost milliseconds.

Pods of one class that wait alone wait for the same reason, so one of them is asked for all; the
pods of a gang wait for what their unit waits for. Answers are kept for some seconds, and only so
many classes are asked at once: the others count as not looked at, until their turn comes.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.views import Views
from stretto.explain.inquiry import Inquiry
from stretto.explain.pending import of_nodes
from stretto.explain.reasons import TIERS, Code
from stretto.framework.contract import View
from stretto.framework.runtime import Engine
from stretto.state.columns import Columns
from stretto.state.lifecycle import PodState, UnitState
from stretto.state.units import NO_GROUP, Unit, Units

ASKED: Final = 64
"""Classes asked in one census."""
QUEUED_ASKED: Final = 20_000
"""Pods in queues with limits that are looked at in one census."""
KEPT_FOR: Final = 10.0
"""Seconds for which an answer is as good as new."""
NOT_ASKED: Final = "not-looked-at"
"""In place of a code for pods of classes whose turn has not come."""
_CODES: Final = tuple(TIERS)
_NUMBER: Final = {code: number for number, code in enumerate(_CODES)}
_BY_STATE: Final = {
    PodState.GATED: Code.GATED,
    PodState.PENDING: Code.QUEUED,
    PodState.DISPATCHED: Code.IN_HAND,
    PodState.NOMINATED: Code.IN_HAND,
    PodState.BACKOFF: Code.BACK_OFF,
    PodState.ABNORMAL: Code.UNREADABLE,
}
"""What pods wait for that need not ask a node."""


class Census:
    """Counts the pods of one plane that wait."""

    def __init__(self, engine: Engine, units: Units, views: Views | None = None) -> None:
        """Nobody has been asked yet; ``views`` tell of limits of queues."""
        self._views = views
        self._engine = engine
        self._units = units
        self._columns = Columns(engine.cluster.ledger)
        self._kept: dict[int, tuple[int, float, Code]] = {}

    def counts(self, now: float) -> Mapping[str, int]:
        """Waiting pods by code; a code is there only while a pod waits for it."""
        pods = self._engine.cluster.pods
        states = pods.state[: pods.length]
        found = np.full(len(states), -1, np.int16)
        for state, code in _BY_STATE.items():
            found[states == state] = _NUMBER[code]
        unknown = self._ask_classes(states, found, now)
        if self._views is not None and self._views.has_limits:
            self._ask_queues(states, found)
        self._ask_gangs(states, found)
        counts = np.bincount(found[found >= 0], minlength=len(_CODES)).tolist()
        told = {code.value: n for code, n in zip(_CODES, counts, strict=True) if n}
        left = int((found[unknown] < 0).sum())
        return told | ({NOT_ASKED: left} if left else {})

    def _ask_classes(
        self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16], now: float
    ) -> npt.NDArray[np.int64]:
        """Codes of sleepers by their class; returns all their rows."""
        rows = np.flatnonzero(states == PodState.UNSCHEDULABLE)
        if not len(rows):
            return rows
        ids = self._engine.cluster.pods.class_id[rows]
        classes, which, counts = np.unique(ids, return_inverse=True, return_counts=True)
        codes = np.full(len(classes), -1, np.int16)
        budget = ASKED
        for place in np.argsort(-counts, kind="stable").tolist():
            class_id = int(classes[place])
            code = self._known(class_id, now)
            if code is None and budget:
                budget -= 1
                code = self._ask(class_id, now)
            if code is not None:
                codes[place] = _NUMBER[code]
        found[rows] = codes[which]
        return rows

    def _known(self, class_id: int, now: float) -> Code | None:
        serial = self._engine.cluster.classes.serial(class_id)
        kept = self._kept.get(class_id)
        fresh = kept is not None and kept[0] == serial and now - kept[1] <= KEPT_FOR
        return kept[2] if kept is not None and fresh else None

    def _ask(self, class_id: int, now: float) -> Code:
        """Why a class does not fit; where it does, its pods only wait for their turn."""
        cluster = self._engine.cluster
        self._columns.sync()
        view = View(self._columns, cluster.nodes, self._engine.typical, self._engine.look())
        pod = cluster.classes[class_id]
        slots = cluster.nodes.live_slots()
        said = of_nodes(Inquiry(self._engine.profile.filters, pod, view, slots))
        code = said[0].code if said else Code.QUEUED
        self._kept[class_id] = pod.serial, now, code
        return code

    def _ask_queues(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
        """Pods whose queue has no room by its limits; of very many, the first are asked."""
        assert self._views is not None
        classes = self._engine.cluster.pods.class_id
        kept: dict[tuple[str, int, int], bool] = {}
        for row in np.flatnonzero(states == PodState.PENDING)[:QUEUED_ASKED].tolist():
            unit = self._units.of_row(row)
            if unit is None:
                continue
            key = (unit.queue, int(classes[row]), unit.still_needed)
            if key not in kept:
                kept[key] = bool(self._views.limits(unit))
            if kept[key]:
                found[row] = _NUMBER[Code.QUEUE_LIMIT]

    def _ask_gangs(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
        """Codes of pods that wait for their gang, unit by unit."""
        for unit in self._units.by_identity.values():
            code = _of_unit(unit)
            if code is None or not unit.pending:
                continue
            rows = np.array(unit.pending, np.int64)
            rows = rows[(states[rows] != PodState.GATED) & (states[rows] != PodState.ABNORMAL)]
            if code is Code.GANG_SHORT:  # only where its pods would fit alone
                rows = rows[found[rows] == _NUMBER[Code.QUEUED]]
            found[rows] = _NUMBER[code]


def _of_unit(unit: Unit) -> Code | None:
    """What a unit of several pods waits for; ``None`` where its pods wait for themselves."""
    if unit.state is UnitState.FORMING:
        return Code.UNKNOWN_GROUP if unit.min_member == NO_GROUP else Code.GANG_INCOMPLETE
    if unit.state is UnitState.FAILED and unit.is_gang:
        return Code.GANG_TIMED_OUT
    if unit.state is UnitState.UNSCHEDULABLE and unit.still_needed > 1:
        return Code.GANG_SHORT
    return None
