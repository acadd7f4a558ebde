"""Every pod that waits, counted by why: by columns, so that a million of them cost milliseconds.

Pods of one class that wait alone wait for the same reason, so one of them is asked for all; pods
with volumes, and all pods under kube-scheduler's own rules, are asked with those that are like them
to the rules. The pods of a gang wait for what their unit waits for. Answers are kept for some
seconds, and only so many are asked at once: the others count as not looked at, until their turn
comes.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.views import UnitViews
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.judging import Judging
from stretto.explain.why.pending import of_nodes
from stretto.explain.words.reasons import TIERS, ReasonCode
from stretto.framework.contract.rule import FilterRule, View
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.snapshot import Columns
from stretto.state.work.units import NO_GROUP, Unit, Units

ASKED: Final = 64
"""Classes asked in one census."""
QUEUED_ASKED: Final = 20_000
"""Pods in queues with limits that are looked at in one census."""
COMPARED: Final = 4096
"""Pods that are asked by themselves of which one census finds out whom they are like."""
KEPT_FOR: Final = 10.0
"""Seconds for which an answer is as good as new."""
NOT_ASKED: Final = "not-looked-at"
"""In place of a code for pods of classes whose turn has not come."""
_CODES: Final = tuple(TIERS)
_NUMBER: Final = {code: number for number, code in enumerate(_CODES)}
_BY_STATE: Final = {
    PodState.GATED: ReasonCode.GATED,
    PodState.PENDING: ReasonCode.QUEUED,
    PodState.DISPATCHED: ReasonCode.IN_HAND,
    PodState.NOMINATED: ReasonCode.IN_HAND,
    PodState.BACKOFF: ReasonCode.BACK_OFF,
    PodState.ABNORMAL: ReasonCode.UNREADABLE,
}
"""What pods wait for that need not ask a node."""


class _PodVerdict(NamedTuple):
    """What was said of one pod."""

    #: Clock time of the question.
    asked_at: float
    #: Why it waits.
    code: ReasonCode
    #: Rules that refuse it somewhere.
    plugins: tuple[str, ...]


class Census:
    """Counts the pods of one plane that wait."""

    def __init__(
        self, engine: CompiledProfile, units: Units, views: UnitViews | None = None
    ) -> None:
        """Nobody has been asked yet; ``views`` tell of limits of queues."""
        self._views = views
        self._engine = engine
        self._units = units
        self._columns = Columns(engine.cluster.ledger)
        self._judging = Judging(engine)
        self._kept: dict[int, tuple[int, float, ReasonCode]] = {}
        self._own_reasons: dict[int, _PodVerdict] = {}
        self._budget = ASKED

    def counts(self, now: float) -> Mapping[str, int]:
        """Waiting pods by code; a code is there only while a pod waits for it."""
        pods = self._engine.cluster.pods
        states = pods.state[: pods.length]
        found = np.full(len(states), -1, np.int16)
        for state, code in _BY_STATE.items():
            found[states == state] = _NUMBER[code]
        unknown = self._probe_sleepers(states, found, now)
        if self._views is not None and self._views.has_limits:
            self._probe_queues(states, found)
        self._probe_gangs(states, found)
        counts = np.bincount(found[found >= 0], minlength=len(_CODES)).tolist()
        told = {code.value: n for code, n in zip(_CODES, counts, strict=True) if n}
        left = int((found[unknown] < 0).sum())
        return told | ({NOT_ASKED: left} if left else {})

    def _probe_sleepers(
        self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16], now: float
    ) -> npt.NDArray[np.int64]:
        """Codes of those that fit nowhere; returns all their rows."""
        rows = np.flatnonzero(states == PodState.UNSCHEDULABLE)
        alone = self.have_own_reasons(rows)
        self._budget = ASKED
        if not alone.all():
            self._probe_classes(rows[~alone], found, now)
        if alone.any():
            self._probe_pods(rows[alone], found, now)
        return rows

    def have_own_reasons(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """bool[k]: pods of which something is said that their class does not tell."""
        if not self._judging.by_class:
            return np.ones(len(rows), np.bool_)
        has: npt.NDArray[np.bool_] = self._engine.cluster.pods.volumes[rows] > 0
        return has & self._engine.profile.needs_volumes

    def plugins(self, rows: npt.NDArray[np.int64]) -> Counter[str]:
        """Such pods by the rules that refused them somewhere when they were asked last."""
        found: Counter[str] = Counter()
        for serial in self._engine.cluster.pods.serial[rows].tolist():
            kept = self._own_reasons.get(serial)
            found.update(kept.plugins if kept is not None else ())
        return found

    def _probe_classes(
        self, rows: npt.NDArray[np.int64], found: npt.NDArray[np.int16], now: float
    ) -> None:
        """Codes of sleepers by their class, the largest classes first."""
        ids = self._engine.cluster.pods.class_id[rows]
        classes, which, counts = np.unique(ids, return_inverse=True, return_counts=True)
        codes = np.full(len(classes), -1, np.int16)
        for place in np.argsort(-counts, kind="stable").tolist():
            class_id = int(classes[place])
            code = self._known(class_id, now)
            if code is None and self._budget:
                self._budget -= 1
                code = self._ask(class_id, now)
            if code is not None:
                codes[place] = _NUMBER[code]
        found[rows] = codes[which]

    def _probe_pods(
        self, rows: npt.NDArray[np.int64], found: npt.NDArray[np.int16], now: float
    ) -> None:
        """Codes of sleepers of which something is said that their class does not tell."""
        pods, compared = self._engine.cluster.pods, COMPARED
        if len(self._own_reasons) > 2 * len(rows) + COMPARED:
            self._own_reasons.clear()
        said: dict[Hashable, _PodVerdict] = {}
        for row, serial in zip(rows.tolist(), pods.serial[rows].tolist(), strict=True):
            kept = self._own_reasons.get(serial)
            if kept is not None and now - kept.asked_at <= KEPT_FOR:
                found[row] = _NUMBER[kept.code]
                continue
            if not compared:
                continue
            compared -= 1
            likeness = self._judging.likeness(row)
            if likeness not in said:
                if not self._budget:
                    continue
                self._budget -= 1
                said[likeness] = self._why(row, now)
            self._own_reasons[serial] = said[likeness]
            found[row] = _NUMBER[said[likeness].code]

    def _known(self, class_id: int, now: float) -> ReasonCode | None:
        serial = self._engine.cluster.classes.serial(class_id)
        kept = self._kept.get(class_id)
        fresh = kept is not None and kept[0] == serial and now - kept[1] <= KEPT_FOR
        return kept[2] if kept is not None and fresh else None

    def _ask(self, class_id: int, now: float) -> ReasonCode:
        """Why a class does not fit; where it does, its pods only wait for their turn."""
        inquiry = self._inquire(self._engine.profile.every_filter, class_id)
        serial = self._engine.cluster.classes.serial(class_id)
        self._kept[class_id] = serial, now, _code(inquiry)
        return _code(inquiry)

    def _why(self, row: int, now: float) -> _PodVerdict:
        """Why one pod does not fit."""
        class_id = int(self._engine.cluster.pods.class_id[row])
        inquiry = self._inquire(self._judging.rules(row)[0], class_id)
        plugins = tuple(dict.fromkeys(each.rule.NAME for each in inquiry.refused))
        return _PodVerdict(now, _code(inquiry), plugins)

    def _inquire(self, filters: Sequence[FilterRule], class_id: int) -> Inquiry:
        cluster = self._engine.cluster
        self._columns.sync()
        view = View(self._columns, cluster.nodes, self._engine.typical, self._engine.look())
        slots = cluster.nodes.live_slots()
        return Inquiry(filters, cluster.classes[class_id], view, slots)

    def _probe_queues(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
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
                found[row] = _NUMBER[ReasonCode.QUEUE_LIMIT]

    def _probe_gangs(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
        """Codes of pods that wait for their gang, unit by unit."""
        for unit in self._units.by_identity.values():
            code = _of_unit(unit)
            if code is None or not unit.pending:
                continue
            rows = np.array(unit.pending, np.int64)
            rows = rows[(states[rows] != PodState.GATED) & (states[rows] != PodState.ABNORMAL)]
            if code is ReasonCode.GANG_SHORT:  # only where its pods would fit alone
                rows = rows[found[rows] == _NUMBER[ReasonCode.QUEUED]]
            found[rows] = _NUMBER[code]


def _code(inquiry: Inquiry) -> ReasonCode:
    """Why a class does not fit; where it does, its pods only wait for their turn."""
    said = of_nodes(inquiry)
    return said[0].code if said else ReasonCode.QUEUED


def _of_unit(unit: Unit) -> ReasonCode | None:
    """What a unit of several pods waits for; ``None`` where its pods wait for themselves."""
    if unit.state is UnitState.FORMING:
        return (
            ReasonCode.UNKNOWN_GROUP if unit.min_member == NO_GROUP else ReasonCode.GANG_INCOMPLETE
        )
    if unit.state is UnitState.FAILED and unit.is_gang:
        return (
            ReasonCode.UNREADABLE_GROUP
            if unit.min_member == NO_GROUP
            else ReasonCode.GANG_TIMED_OUT
        )
    if unit.state is UnitState.UNSCHEDULABLE and unit.still_needed > 1:
        return ReasonCode.GANG_SHORT
    return None
