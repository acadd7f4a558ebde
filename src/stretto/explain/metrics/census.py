"""Counts pending pods by reason, vectorized, so that a million pods take milliseconds.

Pods of one class that are scheduled alone have the same reason, so one evaluation covers them all.
Pods with volumes, and all pods under kube-scheduler's own rules, are evaluated once per group of
equal pods. Pods of a gang have the reason of their unit. Results are cached for some seconds, and
each census evaluates a limited number of classes; the rest counts as not evaluated until its turn.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.views import UnitViews
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.judging import Judging, view_of
from stretto.explain.why.nodes.none_fits import of_nodes
from stretto.explain.words.reasons import TIERS, ReasonCode
from stretto.framework.contract.rule import FilterRule
from stretto.framework.engine.engine import CompiledProfile
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.state.rows.snapshot import Columns
from stretto.state.work.units import NO_GROUP, Unit, Units

CLASSES_EVALUATED: Final = 64
"""Maximum number of classes that one census evaluates."""
QUEUED_EVALUATED: Final = 20_000
"""Maximum number of pods in queues with limits that one census checks."""
COMPARED: Final = 4096
"""Maximum number of individually evaluated pods that one census compares with each other."""
CACHE_SECONDS: Final = 10.0
"""Lifetime of a cached result in seconds."""
NOT_EVALUATED: Final = "not-looked-at"
"""Label for pods of classes that are not evaluated yet, instead of a code."""
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
"""Reasons that follow from a pod's state alone."""


class _PodVerdict(NamedTuple):
    """Result for one pod."""

    #: Clock time of the evaluation, in seconds.
    evaluated_at: float
    #: Reason why the pod is pending.
    code: ReasonCode
    #: Rules that refuse the pod on at least one node.
    plugins: tuple[str, ...]


class Census:
    """Counts the pending pods of one plane by reason."""

    def __init__(
        self, engine: CompiledProfile, units: Units, views: UnitViews | None = None
    ) -> None:
        """Start without cached results; if given, ``views`` add the limits of queues."""
        self._views = views
        self._engine = engine
        self._units = units
        self._columns = Columns(engine.cluster.ledger)
        self._judging = Judging(engine)
        self._by_class: dict[int, tuple[int, float, ReasonCode]] = {}
        self._own_reasons: dict[int, _PodVerdict] = {}
        self._budget = CLASSES_EVALUATED

    def counts(self, now: float) -> Mapping[str, int]:
        """Number of pending pods by code; codes without pods are absent."""
        pods = self._engine.cluster.pods
        states = pods.state[: pods.length]
        found = np.full(len(states), -1, np.int16)
        for state, code in _BY_STATE.items():
            found[states == state] = _NUMBER[code]
        unschedulable = self._probe_unschedulable(states, found, now)
        if self._views is not None and self._views.has_limits:
            self._probe_queues(states, found)
        self._probe_gangs(states, found)
        counts = np.bincount(found[found >= 0], minlength=len(_CODES)).tolist()
        by_code = {code.value: n for code, n in zip(_CODES, counts, strict=True) if n}
        left = int((found[unschedulable] < 0).sum())
        return by_code | ({NOT_EVALUATED: left} if left else {})

    def _probe_unschedulable(
        self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16], now: float
    ) -> npt.NDArray[np.int64]:
        """Set the codes of unschedulable pods and return their rows."""
        rows = np.flatnonzero(states == PodState.UNSCHEDULABLE)
        alone = self.have_own_reasons(rows)
        self._budget = CLASSES_EVALUATED
        if not alone.all():
            self._probe_classes(rows[~alone], found, now)
        if alone.any():
            self._probe_pods(rows[alone], found, now)
        return rows

    def have_own_reasons(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """bool[k]: pods whose reason is not determined by their class alone."""
        if not self._judging.by_class:
            return np.ones(len(rows), np.bool_)
        has: npt.NDArray[np.bool_] = self._engine.cluster.pods.volumes[rows] > 0
        return has & self._engine.profile.needs_volumes

    def plugins(self, rows: npt.NDArray[np.int64]) -> Counter[str]:
        """Count individually evaluated pods by the rules that refuse them on at least one node."""
        found: Counter[str] = Counter()
        for serial in self._engine.cluster.pods.serial[rows].tolist():
            cached = self._own_reasons.get(serial)
            found.update(cached.plugins if cached is not None else ())
        return found

    def _probe_classes(
        self, rows: npt.NDArray[np.int64], found: npt.NDArray[np.int16], now: float
    ) -> None:
        """Set the codes of unschedulable pods by class, the largest classes first."""
        ids = self._engine.cluster.pods.class_id[rows]
        classes, which, counts = np.unique(ids, return_inverse=True, return_counts=True)
        codes = np.full(len(classes), -1, np.int16)
        for place in np.argsort(-counts, kind="stable").tolist():
            class_id = int(classes[place])
            code = self._cached(class_id, now)
            if code is None and self._budget:
                self._budget -= 1
                code = self._evaluate(class_id, now)
            if code is not None:
                codes[place] = _NUMBER[code]
        found[rows] = codes[which]

    def _probe_pods(
        self, rows: npt.NDArray[np.int64], found: npt.NDArray[np.int16], now: float
    ) -> None:
        """Set the codes of unschedulable pods whose class does not determine their reason."""
        pods, compared = self._engine.cluster.pods, COMPARED
        if len(self._own_reasons) > 2 * len(rows) + COMPARED:
            self._own_reasons.clear()
        verdicts: dict[Hashable, _PodVerdict] = {}
        for row, serial in zip(rows.tolist(), pods.serial[rows].tolist(), strict=True):
            cached = self._own_reasons.get(serial)
            if cached is not None and now - cached.evaluated_at <= CACHE_SECONDS:
                found[row] = _NUMBER[cached.code]
                continue
            if not compared:
                continue
            compared -= 1
            verdict_key = self._judging.verdict_key(row)
            if verdict_key not in verdicts:
                if not self._budget:
                    continue
                self._budget -= 1
                verdicts[verdict_key] = self._why(row, now)
            self._own_reasons[serial] = verdicts[verdict_key]
            found[row] = _NUMBER[verdicts[verdict_key].code]

    def _cached(self, class_id: int, now: float) -> ReasonCode | None:
        serial = self._engine.cluster.classes.serial(class_id)
        cached = self._by_class.get(class_id)
        fresh = cached is not None and cached[0] == serial and now - cached[1] <= CACHE_SECONDS
        return cached[2] if cached is not None and fresh else None

    def _evaluate(self, class_id: int, now: float) -> ReasonCode:
        """Dominant reason of a class, or ``QUEUED`` if the class fits."""
        inquiry = self._inquire(self._engine.profile.every_filter, class_id)
        serial = self._engine.cluster.classes.serial(class_id)
        self._by_class[class_id] = serial, now, _code(inquiry)
        return _code(inquiry)

    def _why(self, row: int, now: float) -> _PodVerdict:
        """Evaluate one pod."""
        class_id = int(self._engine.cluster.pods.class_id[row])
        inquiry = self._inquire(self._judging.rules(row)[0], class_id)
        plugins = tuple(dict.fromkeys(each.rule.NAME for each in inquiry.refused))
        return _PodVerdict(now, _code(inquiry), plugins)

    def _inquire(self, filters: Sequence[FilterRule], class_id: int) -> Inquiry:
        cluster = self._engine.cluster
        view = view_of(self._engine, self._columns)
        slots = cluster.nodes.live_slots()
        return Inquiry(filters, cluster.classes[class_id], view, slots)

    def _probe_queues(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
        """Set the codes of queued pods that queue limits block; only the first pods are checked."""
        assert self._views is not None
        classes = self._engine.cluster.pods.class_id
        blocked: dict[tuple[str, int, int], bool] = {}
        for row in np.flatnonzero(states == PodState.PENDING)[:QUEUED_EVALUATED].tolist():
            unit = self._units.of_row(row)
            if unit is None:
                continue
            key = (unit.queue, int(classes[row]), unit.still_needed)
            if key not in blocked:
                blocked[key] = bool(self._views.limits(unit))
            if blocked[key]:
                found[row] = _NUMBER[ReasonCode.QUEUE_LIMIT]

    def _probe_gangs(self, states: npt.NDArray[np.uint8], found: npt.NDArray[np.int16]) -> None:
        """Set the codes of pods that wait for their gang, unit by unit."""
        for unit in self._units.by_identity.values():
            code = _of_unit(unit)
            if code is None or not unit.pending:
                continue
            rows = np.array(unit.pending, np.int64)
            rows = rows[(states[rows] != PodState.GATED) & (states[rows] != PodState.ABNORMAL)]
            if code is ReasonCode.GANG_SHORT:  # only for pods that would fit alone
                rows = rows[found[rows] == _NUMBER[ReasonCode.QUEUED]]
            found[rows] = _NUMBER[code]


def _code(inquiry: Inquiry) -> ReasonCode:
    """Dominant reason of an evaluated class, or ``QUEUED`` if the class fits."""
    reasons = of_nodes(inquiry)
    return reasons[0].code if reasons else ReasonCode.QUEUED


def _of_unit(unit: Unit) -> ReasonCode | None:
    """Reason of a unit of several pods; ``None`` if its pods have reasons of their own."""
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
