"""Who counts where: the rules between pods, in numbers, kept in step with the rows.

Every pod's row has a tag (namespace and labels). When a pod states a term or a constraint, the
populations that it speaks of are numbered and counted by slot, and the rows that the news concerns
get classes that say so: what a class wants of other pods, and where its pods count, is in its
``Wants``. So a class is all that a shard, a waiting room or a judge must know of a pod.

Counts follow the log of rows: each row remembers as what and where it was counted, so that whatever
becomes of it is put right by looking at it again. Clusters in which no pod speaks of others pay for
nothing but the tags.
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
"""Populations beyond twice those of the last clearing before all are numbered anew."""
NOWHERE: Final = 0
"""Number of the membership of pods that count for nobody."""


class PopulationRegistry:
    """Tags, populations and counts of one cluster."""

    def __init__(self, pods: Pods, classes: PodClasses, objects: ClusterObjects) -> None:
        """Start with nothing said."""
        #: Namespaces and labels of pods.
        self.tags = PodTags()
        #: Pods of every population by slot; ``follow`` brings them up to date.
        self.counts = PopulationCounts()
        self._pods = pods
        self._classes = classes
        self._objects = objects
        self._wishes = TermRegistry(classes, self.tags, objects)
        self._members = _PopulationSets(classes, self._wishes)
        self._slots = 0
        self._clear_at = SPARE
        #: Whether rules from outside look at other pods, nobody knows at which.
        self.external_rules = False
        self._came: set[int] = set()
        self._position = 0
        self._counted_as: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._counted_at: npt.NDArray[np.int32] = np.zeros(0, np.int32)

    def came(self, class_ids: npt.ArrayLike) -> None:
        """Pods of these classes, which some rule counts, came to nodes."""
        self._came.update(distinct(np.atleast_1d(np.asarray(class_ids, np.int32))).tolist())

    def requesters(self) -> Callable[[int], bool] | None:
        """Whether a class wants something of the pods that came since the last call.

        ``None`` where it cannot be told: rules of others count pods, or nobody noted who came.
        """
        came, self._came = self._came, set()
        if self.external_rules or not came:
            return None
        classes, found = self._classes, set[tuple[int, int]]()
        for class_id in came:
            if not classes.serial(class_id):
                return None
            wants = classes[class_id].terms
            found.update((wants.epoch, population) for population in wants.counted)
        epochs = {epoch for epoch, _ in found}

        def has_terms(class_id: int) -> bool:
            if not classes.serial(class_id):
                return True
            wants = classes[class_id].terms
            mine = {wants.affinity_population, *(each.population for each in wants.hard)}
            return epochs != {wants.epoch} or any((wants.epoch, p) in found for p in mine)

        return has_terms

    @property
    def populations(self) -> list[Population | CarriedTerm]:
        """Populations by number."""
        return self._wishes.populations

    @property
    def epoch(self) -> int:
        """Rises when populations are numbered anew."""
        return self.counts.epoch

    @property
    def defaults(self) -> tuple[DefaultSpread, ...]:
        """How pods that state no constraint are spread; set before the first pod comes."""
        return self._wishes.defaults

    @defaults.setter
    def defaults(self, wanted: tuple[DefaultSpread, ...]) -> None:
        self._wishes.defaults = wanted
        self.tags.with_owners = bool(wanted)

    @property
    def running_term_scoring(self) -> RunningTermScoring:
        """How terms of running pods count in scores; set before the first pod comes."""
        return self._wishes.running_term_scoring

    @running_term_scoring.setter
    def running_term_scoring(self, wanted: RunningTermScoring) -> None:
        self._wishes.running_term_scoring = wanted

    def grow(self, slots: int) -> None:
        """Make room for ``slots`` slots."""
        self._slots = max(self._slots, slots)
        self.counts.fit(len(self.populations), self._slots)

    # ------------------------------------------------------------ classes

    def assign_populations(self, rows: Rows) -> None:
        """New or changed rows: they and whom they concern get classes that say what is wanted."""
        if not len(rows) or not self._any_population_of(rows):
            return
        self._clear_if_many()
        fresh = self._wishes.hear(self._pairs(rows))
        if fresh:
            meant = self._wishes.update_members(fresh)
            self._change_classes(np.setdiff1d(self._rows_of(meant), rows))
        self._change_classes(rows)

    def object_changed(self, before: Wire | None, after: Wire | None) -> None:
        """A namespace, service or controller came, changed or went."""
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
        """Labels of namespaces have changed: terms may mean other pods there."""
        if self.populations and self._wishes.selects_other_namespaces:
            self._reconsider(self.tags.within(namespaces))

    def _reconsider(self, tags: BoolArray) -> None:
        """Give pods of some tags classes anew."""
        self._wishes.forget(np.flatnonzero(tags).tolist())
        rows = self._rows_of(tags)
        fresh = self._wishes.hear(self._pairs(rows))
        if fresh:
            others = self._wishes.update_members(fresh)
            self._change_classes(np.setdiff1d(self._rows_of(others), rows))
        self._change_classes(rows)
        self.counts.invalidate_log()

    def retag(self, row: int, tag: int) -> None:
        """A pod's labels are others now; its class must be admitted anew."""
        pods = self._pods
        gone = self.tags.release(int(pods.tag[row]))
        if gone >= 0:
            self._wishes.forget((gone,))
        pods.tag[row] = tag
        self.tags.use(pods.tag[row : row + 1])

    def end(self, row: int) -> None:
        """A pod has gone; its row still has its tag."""
        gone = self.tags.release(int(self._pods.tag[row]))
        if gone >= 0:
            self._wishes.forget((gone,))

    def _any_population_of(self, rows: Rows) -> bool:
        if self.populations or (self.defaults and self._objects.may_select):
            return True
        return bool(self._classes.with_terms[self._pods.class_id[rows]].any())

    def _rows_of(self, tags: npt.NDArray[np.bool_]) -> Rows:
        """Rows in use of some tags."""
        pods = self._pods
        rows = np.flatnonzero(tags[pods.tag[: pods.length]])
        return rows[pods.serial[rows] > 0]

    def _pairs(self, rows: Rows) -> list[Pair]:
        """Distinct (class id, tag) of some rows."""
        pods = self._pods
        keys = distinct(pods.class_id[rows].astype(np.int64) << 32 | pods.tag[rows])
        return list(zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True))

    def _change_classes(self, rows: Rows) -> None:
        """Give rows the classes that are right now."""
        pods = self._pods
        if not len(rows):
            return
        keys = pods.class_id[rows].astype(np.int64) << 32 | pods.tag[rows]
        pairs, inverse = np.unique(keys, return_inverse=True)
        classed = self._wishes.classes_for([(k >> 32, k & 0xFFFFFFFF) for k in pairs.tolist()])
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
        """Number populations anew when most are likely to be nobody's any more."""
        if len(self.populations) <= self._clear_at:
            return
        self.counts.clear()
        self._wishes.clear(self.counts.epoch)
        self._members = _PopulationSets(self._classes, self._wishes)
        self._counted_as[:] = NOWHERE
        rows = self._pods.rows()
        self._wishes.update_members(self._wishes.hear(self._pairs(rows)))
        self._change_classes(rows)
        self._position = -1
        self._clear_at = 2 * len(self.populations) + SPARE

    # ------------------------------------------------------------ counts

    def counted(self, rows: Rows) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """(population, slot) of every count that some rows make, as ``follow`` left them."""
        rows = rows[rows < len(self._counted_as)]
        return self._members.spread(self._counted_as[rows], self._counted_at[rows])

    def counted_in(self, population: int, rows: Rows) -> BoolArray:
        """bool[k]: which of some rows a population counts, as ``follow`` left them."""
        found, known = np.zeros(len(rows), np.bool_), rows < len(self._counted_as)
        found[known] = self._members.having(population)[self._counted_as[rows[known]]]
        return found

    def follow(self) -> None:
        """Bring the counts up to date with the rows."""
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
        """Count some rows as what and where they are now."""
        pods = self._pods
        slots = pods.slot[rows]
        placed = slots != NO_SLOT
        after = np.zeros(len(rows), np.int32)
        leaving = pods.eviction_state[rows[placed]] > 0
        after[placed] = self._members.of(pods.class_id[rows[placed]], leaving)
        before, at = self._counted_as[rows], self._counted_at[rows]
        moved = (before != after) | ((after != NOWHERE) & (at != slots))
        if not moved.any():
            return
        rows, before, after, at, slots = (each[moved] for each in (rows, before, after, at, slots))
        self.counts.change(*self._members.spread(before, at), -1)
        self.counts.change(*self._members.spread(after, slots), 1)
        self._counted_as[rows], self._counted_at[rows] = after, slots


class _PopulationSets:
    """The populations that pods belong to, as numbered lists that classes share."""

    def __init__(self, classes: PodClasses, wishes: TermRegistry) -> None:
        self._classes = classes
        self._wishes = wishes
        self._serial: npt.NDArray[np.int64] = np.zeros(64, np.int64)
        self._of_class: npt.NDArray[np.int32] = np.zeros((64, 2), np.int32)
        self._numbers: dict[tuple[int, ...], int] = {(): NOWHERE}
        self._start: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._length: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._entries: npt.NDArray[np.int32] = np.zeros(64, np.int32)
        self._used = 0

    def of(
        self, class_ids: npt.NDArray[np.int32], leaving: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int32]:
        """int32[k]: number of the list of each pod."""
        if not len(class_ids):
            return np.zeros(0, np.int32)
        self._ensure(class_ids)
        found: npt.NDArray[np.int32] = self._of_class[class_ids, leaving.astype(np.int64)]
        return found

    def spread(
        self, lists: npt.NDArray[np.int32], slots: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """One (population, slot) for each entry of each list."""
        lengths = self._length[lists]
        total = int(lengths.sum())
        ends = np.cumsum(lengths)
        index = np.arange(total) + np.repeat(self._start[lists] - (ends - lengths), lengths)
        return self._entries[index], np.repeat(slots, lengths)

    def having(self, population: int) -> BoolArray:
        """bool[list]: the lists that a population is on."""
        whose = np.repeat(np.arange(len(self._length)), self._length)
        found = np.zeros(len(self._length), np.bool_)
        found[whose[self._entries[: self._used] == population]] = True
        return found

    def _ensure(self, class_ids: npt.NDArray[np.int32]) -> None:
        top = int(class_ids.max()) + 1
        if top > len(self._serial):
            more = max(top, 2 * len(self._serial)) - len(self._serial)
            self._serial = np.concatenate([self._serial, np.zeros(more, np.int64)])
            self._of_class = np.concatenate([self._of_class, np.zeros((more, 2), np.int32)])
        serials = self._classes.serials[class_ids]
        for class_id in distinct(class_ids[self._serial[class_ids] != serials]).tolist():
            pod, wishes = self._classes[class_id], self._wishes
            counted = pod.terms.counted if pod.terms.epoch == wishes.epoch else ()
            leaving = tuple(each for each in counted if not wishes.excludes_terminating(each))
            self._of_class[class_id] = self._number(counted), self._number(leaving)
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
