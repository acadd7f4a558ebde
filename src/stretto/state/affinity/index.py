"""Populations and counts of inter-pod rules, kept consistent with the pods' rows.

Every pod's row has a tag (namespace and labels). If a pod has a term or constraint, the populations
to which it refers are numbered and counted by slot, and the affected rows get derived classes: the
terms of a class, and the populations that count its pods, are its ``ClassTerms``. Therefore a
shard, the dispatcher or a judge needs only the class of a pod.

Counts follow the row log: the registry stores how each row was counted, so any change is corrected
by counting the row again. Clusters without inter-pod rules pay only for tags.
"""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import Namespace
from stretto.api.wire.meta import Wire
from stretto.base.arrays import distinct
from stretto.state.affinity.counts import PopulationCounts
from stretto.state.affinity.defaults import tags_affected
from stretto.state.affinity.populations import Pair, TermRegistry
from stretto.state.affinity.tags import PodTags
from stretto.state.classes.table import PodClasses
from stretto.state.classes.terms import CarriedTerm, DefaultSpread, Population, RunningTermScoring
from stretto.state.nodes.labels import BoolArray
from stretto.state.objects import ClusterObjects
from stretto.state.rows.pods import NO_SLOT, Pods

Rows = npt.NDArray[np.int64]

SPARE: Final = 4096
"""Renumbering threshold: number of populations beyond twice the number after the last clearing."""
NOWHERE: Final = 0
"""Membership number of pods that no population counts."""


class PopulationRegistry:
    """Tags, populations and counts of one cluster."""

    def __init__(self, pods: Pods, classes: PodClasses, objects: ClusterObjects) -> None:
        """Start without populations."""
        #: Namespaces and labels of pods.
        self.tags = PodTags()
        #: Number of pods of every population by slot; ``follow`` updates them.
        self.counts = PopulationCounts()
        self._pods = pods
        self._classes = classes
        self._objects = objects
        self._registry = TermRegistry(classes, self.tags, objects)
        #: Populations by number.
        self.populations: list[Population | CarriedTerm] = self._registry.populations
        self._members = _PopulationSets(classes, self._registry)
        self._slots = 0
        self._clear_at = SPARE
        # True if external rules with unknown inputs read other pods.
        self._external_rules = False
        self._placed_classes: set[int] = set()
        self._position = 0
        self._counted_as: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._counted_at: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def record_placed(self, class_ids: npt.ArrayLike) -> None:
        """Record that pods of these classes, counted by some rule, were placed."""
        self._placed_classes.update(
            distinct(np.atleast_1d(np.asarray(class_ids, np.int32))).tolist()
        )

    def requesters(self) -> Callable[[int], bool] | None:
        """Predicate on a class id: the class depends on pods placed since the last call.

        ``None`` if unknown: external rules count pods, or placements were not recorded.
        """
        placed, self._placed_classes = self._placed_classes, set()
        if self._external_rules or not placed:
            return None
        classes, found = self._classes, set[tuple[int, int]]()
        for class_id in placed:
            if not classes.serial(class_id):
                return None
            terms = classes[class_id].terms
            found.update((terms.epoch, population) for population in terms.counted)
        epochs = {epoch for epoch, _ in found}

        def has_terms(class_id: int) -> bool:
            if not classes.serial(class_id):
                return True
            terms = classes[class_id].terms
            mine = {terms.affinity_population, *(each.population for each in terms.hard)}
            return epochs != {terms.epoch} or any((terms.epoch, p) in found for p in mine)

        return has_terms

    @property
    def epoch(self) -> int:
        """Incremented when populations are renumbered."""
        return self.counts.epoch

    @property
    def defaults(self) -> tuple[DefaultSpread, ...]:
        """Default spread constraints."""
        return self._registry.defaults

    @property
    def running_term_scoring(self) -> RunningTermScoring:
        """Scoring of running pods' terms."""
        return self._registry.running_term_scoring

    def configure(
        self, defaults: tuple[DefaultSpread, ...], running_term_scoring: RunningTermScoring
    ) -> None:
        """Set the default spread and the scoring of running terms; before the first pod."""
        self._registry.configure(defaults, running_term_scoring)
        self.tags.include_owners(wanted=bool(defaults))

    def read_by_external_rules(self, *, wanted: bool) -> None:
        """Set whether external rules with unknown inputs read other pods."""
        self._external_rules = wanted

    def grow(self, slots: int) -> None:
        """Grow to ``slots`` slots."""
        self._slots = max(self._slots, slots)
        self.counts.fit(len(self.populations), self._slots)

    # ------------------------------------------------------------ classes

    def assign_populations(self, rows: Rows) -> None:
        """Assign classes with current terms to new or changed rows and to the rows they affect."""
        if not len(rows) or not self._any_population_of(rows):
            return
        self._clear_if_many()
        fresh = self._registry.register(self._pairs(rows))
        if fresh:
            meant = self._registry.update_members(fresh)
            self._change_classes(np.setdiff1d(self._rows_of(meant), rows))
        self._change_classes(rows)

    def object_changed(self, before: Wire | None, after: Wire | None) -> None:
        """Handle an added, changed or removed namespace, service or controller."""
        one = before if before is not None else after
        if isinstance(one, Namespace):
            labels = [
                each.metadata.labels for each in (before, after) if isinstance(each, Namespace)
            ]
            if len(labels) < 2 or labels[0] != labels[1]:
                self.reassign_populations((one.metadata.name,))
        elif self.defaults:
            meant = tags_affected(self.tags, before, after)
            if meant is not None and meant.any():
                self._reconsider(meant)

    def reassign_populations(self, namespaces: Iterable[str]) -> None:
        """Reassign classes after a change of namespace labels: terms may select other pods."""
        if self.populations and self._registry.selects_other_namespaces:
            self._reconsider(self.tags.within(namespaces))

    def _reconsider(self, tags: BoolArray) -> None:
        """Reassign the classes of pods with these tags."""
        self._registry.forget(np.flatnonzero(tags).tolist())
        rows = self._rows_of(tags)
        fresh = self._registry.register(self._pairs(rows))
        if fresh:
            others = self._registry.update_members(fresh)
            self._change_classes(np.setdiff1d(self._rows_of(others), rows))
        self._change_classes(rows)
        self.counts.invalidate_log()

    def retag(self, row: int, tag: int) -> None:
        """Set a pod's new tag; its class must be assigned again."""
        pods = self._pods
        dropped = self.tags.release(int(pods.tag[row]))
        if dropped >= 0:
            self._registry.forget((dropped,))
        pods.tag[row] = tag
        self.tags.use(pods.tag[row : row + 1])

    def end(self, row: int) -> None:
        """Remove a pod; its row still has its tag."""
        dropped = self.tags.release(int(self._pods.tag[row]))
        if dropped >= 0:
            self._registry.forget((dropped,))

    def _any_population_of(self, rows: Rows) -> bool:
        if self.populations or (self.defaults and self._objects.may_select):
            return True
        return bool(self._classes.with_terms[self._pods.class_id[rows]].any())

    def _rows_of(self, tags: npt.NDArray[np.bool_]) -> Rows:
        """Rows in use that have these tags."""
        pods = self._pods
        rows = np.flatnonzero(tags[pods.tag[: pods.length]])
        return rows[pods.serial[rows] > 0]

    def _pairs(self, rows: Rows) -> list[Pair]:
        """Distinct (class id, tag) of some rows."""
        pods = self._pods
        keys = distinct(pods.class_id[rows].astype(np.int64) << 32 | pods.tag[rows])
        return list(zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True))

    def _change_classes(self, rows: Rows) -> None:
        """Assign the current classes to rows."""
        pods = self._pods
        if not len(rows):
            return
        keys = pods.class_id[rows].astype(np.int64) << 32 | pods.tag[rows]
        pairs, inverse = np.unique(keys, return_inverse=True)
        classed = self._registry.classes_for([(k >> 32, k & 0xFFFFFFFF) for k in pairs.tolist()])
        after = np.array(classed, np.int32)[inverse]
        moved = after != pods.class_id[rows]
        if not moved.any():
            return
        rows, after = rows[moved], after[moved]
        before = pods.class_id[rows]
        pods.class_id[rows] = after
        self._classes.move(before, after)
        pods.log.extend(rows)

    def _clear_if_many(self) -> None:
        """Renumber the populations if most are probably unused."""
        if len(self.populations) <= self._clear_at:
            return
        self.counts.clear()
        self._registry.clear(self.counts.epoch)
        self._members = _PopulationSets(self._classes, self._registry)
        self._counted_as[:] = NOWHERE
        rows = self._pods.rows()
        self._registry.update_members(self._registry.register(self._pairs(rows)))
        self._change_classes(rows)
        self._position = -1
        self._clear_at = 2 * len(self.populations) + SPARE

    # ------------------------------------------------------------ counts

    def counted(self, rows: Rows) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """(population, slot) of every count of some rows, as of the last ``follow``."""
        rows = rows[rows < len(self._counted_as)]
        return self._members.spread(self._counted_as[rows], self._counted_at[rows])

    def counted_in(self, population: int, rows: Rows) -> BoolArray:
        """bool[k]: rows that a population counts, as of the last ``follow``."""
        found, known = np.zeros(len(rows), np.bool_), rows < len(self._counted_as)
        found[known] = self._members.having(population)[self._counted_as[rows[known]]]
        return found

    def follow(self) -> None:
        """Update the counts from the row log."""
        pods = self._pods
        if not self.populations:
            self._position = pods.log.head
            return
        changed = pods.log.since(self._position) if self._position >= 0 else None
        self._position = pods.log.head
        self.counts.fit(len(self.populations), self._slots)
        if len(self._counted_as) < pods.length:
            more = np.zeros(len(pods.class_id) - len(self._counted_as), np.int32)
            self._counted_as = np.concatenate([self._counted_as, more])
            self._counted_at = np.concatenate([self._counted_at, more])
        rows = np.arange(pods.length) if changed is None else distinct(changed)
        if len(rows):
            self._recount(rows)

    def _recount(self, rows: Rows) -> None:
        """Count rows by their current class and slot."""
        pods = self._pods
        slots = pods.slot[rows]
        placed = slots != NO_SLOT
        after = np.zeros(len(rows), np.int32)
        terminating = pods.eviction_state[rows[placed]] > 0
        after[placed] = self._members.of(pods.class_id[rows[placed]], terminating)
        before, at = self._counted_as[rows], self._counted_at[rows]
        moved = (before != after) | ((after != NOWHERE) & (at != slots))
        if not moved.any():
            return
        rows, before, after, at, slots = (each[moved] for each in (rows, before, after, at, slots))
        self.counts.change(*self._members.spread(before, at), -1)
        self.counts.change(*self._members.spread(after, slots), 1)
        self._counted_as[rows], self._counted_at[rows] = after, slots


class _PopulationSets:
    """Sets of populations that count a pod, numbered and shared between classes."""

    def __init__(self, classes: PodClasses, registry: TermRegistry) -> None:
        self._classes = classes
        self._registry = registry
        self._serial: npt.NDArray[np.int64] = np.zeros(64, np.int64)
        self._of_class: npt.NDArray[np.int32] = np.zeros((64, 2), np.int32)
        self._numbers: dict[tuple[int, ...], int] = {(): NOWHERE}
        self._start: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._length: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._entries: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._used = 0

    def of(
        self, class_ids: npt.NDArray[np.int32], terminating: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int32]:
        """int32[k]: number of the set of each pod."""
        if not len(class_ids):
            return np.zeros(0, np.int32)
        self._ensure(class_ids)
        found: npt.NDArray[np.int32] = self._of_class[class_ids, terminating.astype(np.int64)]
        return found

    def spread(
        self, lists: npt.NDArray[np.int32], slots: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """One (population, slot) pair for each member of each set."""
        lengths = self._length[lists]
        total = int(lengths.sum())
        ends = np.cumsum(lengths)
        index = np.arange(total) + np.repeat(self._start[lists] - (ends - lengths), lengths)
        return self._entries[index], np.repeat(slots, lengths)

    def having(self, population: int) -> BoolArray:
        """bool[set]: sets that contain a population."""
        owners = np.repeat(np.arange(len(self._length)), self._length)
        found = np.zeros(len(self._length), np.bool_)
        found[owners[self._entries[: self._used] == population]] = True
        return found

    def _ensure(self, class_ids: npt.NDArray[np.int32]) -> None:
        top = int(class_ids.max()) + 1
        if top > len(self._serial):
            more = max(top, 2 * len(self._serial)) - len(self._serial)
            self._serial = np.concatenate([self._serial, np.zeros(more, np.int64)])
            self._of_class = np.concatenate([self._of_class, np.zeros((more, 2), np.int32)])
        serials = self._classes.serials[class_ids]
        for class_id in distinct(class_ids[self._serial[class_ids] != serials]).tolist():
            pod, registry = self._classes[class_id], self._registry
            counted = pod.terms.counted if pod.terms.epoch == registry.epoch else ()
            terminating = tuple(each for each in counted if not registry.excludes_terminating(each))
            self._of_class[class_id] = self._number(counted), self._number(terminating)
            self._serial[class_id] = pod.serial

    def _number(self, populations: tuple[int, ...]) -> int:
        found = self._numbers.get(populations)
        if found is not None:
            return found
        self._numbers[populations] = found = len(self._numbers)
        if found == len(self._start):
            self._start = np.concatenate([self._start, np.zeros(found, np.int32)])
            self._length = np.concatenate([self._length, np.zeros(found, np.int32)])
        while self._used + len(populations) > len(self._entries):
            self._entries = np.concatenate([self._entries, np.zeros_like(self._entries)])
        self._start[found], self._length[found] = self._used, len(populations)
        self._entries[self._used : self._used + len(populations)] = populations
        self._used += len(populations)
        return found
