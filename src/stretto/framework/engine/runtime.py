"""The runtime of a profile: the engine with which one shard places pods.

It contains the state that shards do not share: a snapshot of the ledger, the class cache, and the
cursors of the tie rule. ``sync`` updates the snapshot; ``place`` decides a batch on it. The rules
of a profile are compiled once for all of its shards (``CompiledProfile``). Stages
(``turns.PlacingStage``) place the units that a score alone cannot decide, on the same snapshot and
in the order of the batch.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import distinct
from stretto.base.rng import Rng
from stretto.framework.affinity.counts import DomainView
from stretto.framework.affinity.view_for_rules import RuleView
from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.compiled.tables import PodBatch, SlotChoice
from stretto.framework.contract.rule import View
from stretto.framework.engine.choice import TieState
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.scores import ClassScores
from stretto.framework.engine.turns import PlacingStage
from stretto.state.rows.snapshot import Columns

T = TypeVar("T")
Mask = npt.NDArray[np.bool_]


class Runtime:
    """Places pods by one profile on one snapshot."""

    def __init__(
        self,
        engine: CompiledProfile,
        rng: Rng,
        tier: str = "auto",
        stages: Callable[["Runtime"], Sequence[PlacingStage]] = lambda _: (),
    ) -> None:
        """Create a runtime with its own snapshot.

        Args:
            engine: the compiled profile.
            rng: random draws of the tie rule.
            tier: the kernels: ``auto``, ``numba`` or ``numpy``.
            stages: creates the stages of this runtime, in the order of their turns.
        """
        #: State that it shares with other shards.
        self.engine = engine
        #: Counts of other pods in this snapshot.
        self.between = DomainView(engine.between, engine.cluster)
        #: The tie rule, with the partition of the shard.
        self.ties = TieState(engine.profile, engine.cluster, rng)
        #: The snapshot.
        derived = None if engine.derived is None else engine.derived.columns
        self.columns = Columns(engine.cluster.ledger, derived)
        #: The class cache and its kernels.
        self.scores = ClassScores(engine, self.columns, lambda: self.view, tier)
        self._only: Mask | None = None
        self._renewed = 0
        #: The stages for units that a score alone cannot decide, in order.
        self.stages: tuple[PlacingStage, ...] = tuple(stages(self))

    @property
    def own_block(self) -> npt.NDArray[np.uint8]:
        """uint8[block]: blocks of the shard's own partition; all of them without a partition."""
        return self.ties.own_block

    @own_block.setter
    def own_block(self, blocks: npt.NDArray[np.uint8]) -> None:
        self.ties.own_block = blocks

    @property
    def only(self) -> Mask | None:
        """bool[slot]: the only slots that ``place`` may use at present; ``None`` for all."""
        return self._only

    @property
    def view(self) -> View:
        """The state that rules may read."""
        look = RuleView(self.between)
        return View(self.columns, self.engine.cluster.nodes, self.engine.typical, look)

    def stage(self, kind: type[T]) -> T:
        """The stage of a type.

        Raises:
            LookupError: this runtime has no such stage.
        """
        for each in self.stages:
            if isinstance(each, kind):
                return each
        raise LookupError(f"the runtime has no stage {kind.__name__}")

    # ------------------------------------------------------------ the snapshot

    def sync(self) -> None:
        """Update the snapshot from the ledger."""
        self.scores.sync(fresh=self.columns.sync())
        if self.ties.sync():
            self.scores.entries.resize_rows(self.ties.ranges)
        self._sync_inter_pod()
        if self.engine.renewals.exist and self.engine.renewals.images.active:
            self._renewed = self.engine.renewals.follow(self.columns, self._renewed)
        for stage in self.stages:
            stage.sync()

    def _sync_inter_pod(self) -> None:
        """Update the counts of other pods, if any rule counts pods."""
        if not self.engine.cluster.domains.populations:
            return
        changed = self.between.sync()
        if changed is None:
            self.columns.void()
        elif len(changed):
            self.columns.append(changed)

    @contextmanager
    def confined(self, allowed: Mask | None) -> Iterator[None]:
        """Context manager that restricts placement to these slots, if allowed at present."""
        before = self._only
        if allowed is not None:
            self._only = allowed if before is None else allowed & before
        try:
            yield
        finally:
            self._only = before

    def give_back(self, class_id: int, slot: int, mask: int) -> None:
        """Remove from the snapshot a pod that ``place`` added."""
        self.scores.release(class_id, slot, mask)
        self.columns.append(np.array([slot], np.int64))
        self.hold(class_id, slot, mask, -1)
        if self.has_inter_pod_terms(np.array([class_id], np.int32)):
            self.between.take(class_id, slot, -1)

    def hold(self, class_id: int, slot: int, mask: int, sign: int = 1) -> None:
        """Add the amounts of a pod with exclusive cores that was placed on a slot.

        They lower the promised amounts of an overcommitted slot; ``sign`` -1 reverts this. A stage
        that places such pods (``PodCharges.lowers_promises``) calls this method after each of them,
        so that the next pod and the rules use the same amounts as the binder.
        """
        amounts = self.engine.cluster.charges.exclusive(class_id, slot, mask)
        if amounts:
            self.columns.hold(slot, amounts, sign)
            self.columns.append(np.array([slot], np.int64))

    # ------------------------------------------------------------ placing

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch on the snapshot, in order; the snapshot includes the result immediately."""
        return self._place_from(0, request)

    def place_after(self, stage: PlacingStage, request: PlacementRequest) -> BatchPlacement:
        """Place a batch with the stages after the given one, and by score."""
        return self._place_from(self.stages.index(stage) + 1, request)

    def _place_from(self, first: int, request: PlacementRequest) -> BatchPlacement:
        for stage in self.stages[first:]:
            found = stage.concerns(request)
            if found is not None:
                return stage.place(request, found)
        return self.place_by_score(request)

    def place_by_score(self, request: PlacementRequest) -> BatchPlacement:
        """Place a batch by score alone; the next ``sync`` corrects slots rejected later."""
        ids = np.asarray(request.class_ids, np.int32)
        count, units = len(ids), len(request.at_least)
        slots, devices = np.full(count, NOT_TRIED, np.int32), np.zeros(count, np.int32)
        if count == 0 or len(self.columns.live) == 0:
            slots[:] = -1
            return BatchPlacement(slots, devices, units)
        wanted = distinct(ids)
        self.make_ready(wanted)
        self.columns.has_log_capacity(2 * count + 1)
        pins = request.pins if len(request.pins) else [-1] * count
        blocking = request.blocking if len(request.blocking) else [False] * units
        batch = PodBatch(
            class_id=ids,
            pin=np.asarray(pins, np.int32),
            start=np.asarray(request.starts, np.int32),
            at_least=np.asarray(request.at_least, np.int32),
            blocking=np.asarray(blocking, np.uint8),
            draw=self.ties.draws(count),
            slot=slots,
            devices=devices,
        )
        between = self.between if self.has_inter_pod_terms(wanted) else None
        with nullcontext() if self._only is None else self._scored_inside(wanted):
            tried = self.scores.place(batch, self.choice(), self._only, between)
        if between is None:
            return BatchPlacement(slots, devices, tried)
        between.placed(ids[slots >= 0], slots[slots >= 0])
        return BatchPlacement(slots, devices, tried, others=between.basis)

    def choice(self) -> SlotChoice:
        """Data for selecting a slot among the best; its cursors advance with every pick."""
        return self.ties.choice(self.columns.generation)

    @contextmanager
    def _scored_inside(self, wanted: npt.NDArray[np.int32]) -> Iterator[None]:
        """Context manager in which the scores of classes are computed inside ``only``."""
        table = self.engine.compiler.table
        table.extra_row[wanted] = 0
        self.scores.entries.forget(wanted)
        try:
            yield
        finally:
            table.extra_row[wanted] = -1
            self.scores.entries.forget(wanted)

    def make_ready(self, wanted: npt.NDArray[np.int32]) -> None:
        """Compile the classes and create a cache entry for each."""
        compiler = self.engine.compiler
        compiler.ensure(wanted)
        if not compiler.fits(self.columns):
            self.sync()
        self.scores.hold(wanted)
        if self.has_inter_pod_terms(wanted) and self.between.ready(wanted):
            self.columns.void()

    def has_inter_pod_terms(self, class_ids: npt.NDArray[np.int32]) -> bool:
        """True if any of these classes has inter-pod terms, or matches those of other pods."""
        classes = self.engine.cluster.classes
        return self.engine.python_rules.over_domains or bool(
            (classes.counted[class_ids] | classes.judged[class_ids]).any()
        )

    # ------------------------------------------------------------ rows

    def capacity(self, class_id: int) -> int:
        """Maximum number of pods of a class that fit at present: an upper bound; 0 is exact.

        It counts each feasible slot by its scarcest resource; classes with ports or devices count
        one pod per slot.
        """
        bound = self._capacity_by_amounts(class_id)
        for stage in self.stages:
            bound = stage.capacity(class_id, bound)
        return bound

    def _capacity_by_amounts(self, class_id: int) -> int:
        feasible = np.flatnonzero(self.row(class_id))
        if not len(feasible):
            return 0
        if self.engine.cluster.classes[class_id].terms.hard:  # its own pods may open nodes
            feasible = np.flatnonzero(self._own_row(class_id))
        table = self.engine.compiler.table
        bound = np.full(len(feasible), np.iinfo(np.int32).max, np.int64)
        for i in range(int(table.requests[class_id])):
            amount = int(table.amount[class_id, i])
            if amount > 0:
                free = self.columns.free[table.column[class_id, i], feasible]
                bound = np.minimum(bound, free // amount)
        return int(bound.clip(1).sum())

    def row(self, class_id: int) -> npt.NDArray[np.int16]:
        """int16[slot]: 0 where the class is infeasible, else 1 + its score (a read-only view)."""
        return self._with_inter_pod(class_id, self._own_row(class_id))

    def _own_row(self, class_id: int) -> npt.NDArray[np.int16]:
        """The row without the inter-pod constraints."""
        if self.columns.size == 0:
            return np.zeros(0, np.int16)
        self.make_ready(np.array([class_id], np.int32))
        return self.scores.row(class_id, self._only)

    def _with_inter_pod(self, class_id: int, row: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """A row with the inter-pod constraints and the rules over domains."""
        slots = np.arange(len(row))
        if len(row) and self.has_inter_pod_terms(np.array([class_id], np.int32)):
            row = self.between.overlay(class_id, row)
        if self.engine.python_rules.over_domains:
            answers = self.engine.python_rules.domain_values(self.view, class_id, slots)
            allowed = (row > 0) & (answers >= 0)
            row = np.where(allowed, np.maximum(row + answers, 1), 0).astype(np.int16)
        return row

    def reference_row(self, class_id: int) -> npt.NDArray[np.int16]:
        """The same row, computed by the Python rules on every slot: the slow reference."""
        pod, slots = self.engine.cluster.classes[class_id], np.arange(self.columns.size)
        passes = self.columns.live.astype(bool)
        for rule in self.engine.profile.every_filter:
            if rule.signature(pod) is not None:
                passes &= rule.filter(pod, self.view, slots)
        total = np.zeros(self.columns.size, np.int32)
        for score, weight in self.engine.profile.every_score:
            if score.signature(pod) is not None:
                total += weight * score.score(pod, self.view, slots)
        return np.where(passes, 1 + np.maximum(total, 0), 0).astype(np.int16)
