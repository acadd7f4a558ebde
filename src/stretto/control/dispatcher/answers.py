"""Processes the answers of shards, binder and store.

An answer counts only if row, unit and serial match the dispatched pod and no earlier answer covers
the pod. A pod that was deleted in the meantime is not requeued. The answers of one call are grouped
by unit, so that each unit moves once.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from stretto.control.dispatcher.states.attempts import conclude
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.states.transitions import PLACED
from stretto.state.rows.lifecycle import CHARGED, PodState, UnitState
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Setback, SetbackReason, Unit, UnitKind, UnitOutcome

Refusal = tuple[Unit, tuple[int, ...], ConflictCause]
"""A unit, its rows that the binder or the store refused, and the cause."""

_POD = UnitKind.POD
_DISPATCHED = UnitState.DISPATCHED
_WANTED = frozenset({int(PodState.DISPATCHED), int(PodState.PENDING)})
_BY_STORE = (
    ConflictCause.STORE_REFUSED,
    ConflictCause.VICTIM_REFUSED,
    ConflictCause.VOLUME_TIMED_OUT,
)


class Answers:
    """Processes answers."""

    def __init__(self, moves: UnitMoves) -> None:
        """Process answers for these unit states."""
        self._moves = moves
        self._places = moves.states
        self._pods = moves.states.pods
        self._units = moves.states.units

    def placed(self, rows: npt.NDArray[np.int64], now: float) -> None:
        """Process granted claims of these rows: their pods are assumed or bound."""
        units = self._units
        alive = rows[units.serial[rows] == self._pods.serial[rows]]
        usage = self._places.usage
        if usage is not None:
            usage.look(alive.tolist(), now)
        many: dict[Unit, set[int]] = {}
        singles: list[Unit] = []
        by_row = units.by_row
        last, claimed = None, set[int]()
        for row in alive.tolist():
            unit = by_row[row]
            if unit is None:
                continue
            if unit is last:  # pods of a gang are usually adjacent
                claimed.add(row)
            elif unit.kind is not _POD:
                last, claimed = unit, many.setdefault(unit, set())
                claimed.add(row)
            elif unit.pending:
                unit.bound, unit.pending = unit.pending, ()
                singles.append(unit)
        self._finish(singles)
        for unit, held in many.items():
            self._moves.hold(unit, held)
            if usage is not None and unit.away:
                usage.promise(unit)
            self._move_on(unit, now)

    def _finish(self, singles: list[Unit]) -> None:
        """Finish single pods in a batch.

        Nearly all were sent to a shard and affect no other unit.
        """
        places, others = self._places, singles
        if not (places.queues.any_blocking or places.usage or places.unschedulable.woken_units):
            others = [unit for unit in singles if unit.state is not _DISPATCHED]
            back = singles
            if others:
                back = [unit for unit in singles if unit.state is _DISPATCHED]
            for unit in back:
                unit.state = PLACED
            places.shards.release_singles(back)
        for unit in others:
            self._moves.finish(unit)

    def settle(self, refused: Iterable[Refusal], now: float) -> list[Refusal]:
        """Process claims that the binder or the store refused: the pods are pending again.

        Returns the refusals of pods that still exist: a pod may have been deleted after its
        refusal, and its row may belong to another pod.
        """
        harder: dict[Unit, bool] = {}
        current = list[Refusal]()
        usage = self._places.usage
        for unit, rows, cause in refused:
            if usage is not None:
                usage.look(rows, now)
            mine = {row for row in rows if self._is_current(unit, row)}
            if not mine:
                continue
            current.append((unit, tuple(row for row in rows if row in mine), cause))
            assumed = {row for row in mine if row in unit.bound}
            if assumed:
                unit.mark_pending(assumed)
            sent = self._take_back(unit, mine)
            if assumed or sent:
                by_store = cause in _BY_STORE
                harder[unit] = harder.get(unit, False) or by_store
        for unit, by_store in harder.items():
            self._count_failure(unit, by_store, now)
            self._move_on(unit, now)
        return current

    def set_back(self, setbacks: Iterable[Setback], now: float) -> None:
        """Process pods that shards could not place or returned untried."""
        answered: dict[Unit, None] = {}
        for setback in setbacks:
            unit = setback.unit
            rows = {row for row in setback.rows if self._is_current(unit, row)}
            if not self._take_back(unit, rows):
                continue
            answered[unit] = None
            if setback.why is SetbackReason.GIVEN_BACK:
                unit.outcome = max(unit.outcome, UnitOutcome.GIVEN_BACK)
            else:
                unit.blocking_class, unit.cures = setback.class_id, int(setback.cures)
                unit.outcome = max(unit.outcome, UnitOutcome.NO_PLACE)
        for unit in answered:
            self._move_on(unit, now)

    def lose_shard(self, number: int, now: float) -> None:
        """Process the death of a shard: requeue its unanswered pods; assumed pods stay."""
        shards, states = self._places.shards, self._pods.state
        if not shards.is_alive(number):
            return
        shards.alive[number] = False
        found = {
            unit
            for unit in self._units.by_row
            if unit is not None and unit.state is UnitState.DISPATCHED and unit.shard == number
        }
        for unit in sorted(found, key=lambda unit: unit.sequence):
            away = set(unit.away)
            held = {row for row in away if int(states[row]) in CHARGED}
            if held:
                self._moves.hold(unit, held)
                if self._places.usage is not None:
                    self._places.usage.look(held, now)
            self._take_back(unit, away - held)
            unit.outcome = max(unit.outcome, UnitOutcome.GIVEN_BACK)
            self._move_on(unit, now)

    def binder_lost(self, now: float) -> None:
        """Process the death of the binder: requeue pods whose refusals were lost."""
        waiting = np.flatnonzero(self._pods.state[: self._pods.length] == PodState.PENDING)
        returned: dict[Unit, set[int]] = {}
        for row in waiting.tolist():
            unit = self._units.of_row(row)
            if unit is not None and row in unit.bound:
                returned.setdefault(unit, set()).add(row)
        for unit, rows in returned.items():
            unit.mark_pending(rows)
            if self._places.usage is not None:
                self._places.usage.look(rows, now)
            self._move_on(unit, now)

    # ------------------------------------------------------------ one unit

    def _is_current(self, unit: Unit, row: int) -> bool:
        """Return whether a row still belongs to the dispatched pod, and the pod is pending."""
        units, pods = self._units, self._pods
        return (
            units.of_row(row) is unit
            and int(pods.state[row]) in _WANTED
            and bool(units.serial[row] == pods.serial[row])
        )

    def _take_back(self, unit: Unit, rows: set[int]) -> int:
        """Count rows as answered; returns the number of them that were at the shard."""
        count = unit.answered(rows)
        if count:
            self._places.shards.pods[unit.shard] -= count
        return count

    def _count_failure(self, unit: Unit, by_store: bool, now: float) -> None:
        config = self._places.config
        unit.attempts += 1
        delay = config.delay(unit.attempts if by_store else unit.attempts - config.free_retries)
        if unit.state is UnitState.BACKOFF:
            return
        if delay > 0:
            unit.not_before = now + delay
            unit.outcome = UnitOutcome.BACK_OFF
        else:
            unit.outcome = max(unit.outcome, UnitOutcome.RETRY)

    def _move_on(self, unit: Unit, now: float) -> None:
        """Move a unit after all its pods are answered."""
        if not unit.away:
            conclude(self._moves, unit, now)
