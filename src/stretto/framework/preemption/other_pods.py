"""The state of inter-pod and volume rules that a victim search needs.

The search reads the snapshot of the shard, with the promises of the cycle applied to it. Promises
are applied only for pods that have such rules; other pods have no cost. The next ``sync`` of the
snapshot reverts all changes.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from stretto.framework.affinity.after_eviction import EvictionPreview, eviction_preview
from stretto.framework.compiled.affinity import allows
from stretto.framework.compiled.one_node import Holds, VictimCandidate
from stretto.framework.engine.runtime import Runtime
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionState


class PromisedCandidate(NamedTuple):
    """A promise to a preemptor."""

    #: The node and its victims.
    candidate: VictimCandidate
    #: Number of the preemptor's requests in the victim index.
    request: int
    #: Class of the preemptor.
    class_id: int
    #: Row of the preemptor.
    row: int


class PreemptorRules:
    """State of the other pods, for the rules of a preemptor."""

    def __init__(self, runtime: Runtime) -> None:
        """Read the snapshot of a shard."""
        #: Evaluates the volume rules of pods; ``None`` if the profile has none.
        self.volumes: VolumeRules | None = None
        self._cluster = runtime.engine.cluster
        self._view = runtime.between
        #: Promises that the counts of the snapshot include, with the rows excluded for them.
        self._counted: list[PromisedCandidate] = []
        self._gone: set[int] = set()
        #: Promises that the volume snapshot includes; ``None`` if it belongs to another cycle.
        self._mounted: list[PromisedCandidate] | None = None

    def begin(self) -> None:
        """Start a cycle; the snapshot is up to date."""
        self._counted.clear()
        self._gone.clear()
        self._mounted = None

    def is_strict(self, class_id: int) -> bool:
        """True if a class has inter-pod rules that may reject nodes or require other pods."""
        classes = self._cluster.classes
        return bool(classes.judged[class_id]) and classes[class_id].terms.strict

    def heads(self, class_id: int, taken: Sequence[PromisedCandidate]) -> EvictionPreview | None:
        """Inter-pod rule results on every node for a class; ``None`` if it has none."""
        if not self.is_strict(class_id):
            return None
        self._count([class_id], taken)
        return eviction_preview(self._view, class_id)

    def holds(self, class_id: int, taken: Sequence[PromisedCandidate]) -> Holds | None:
        """Return a check of inter-pod rules after some evictions; ``None`` if a class has none."""
        if not self.is_strict(class_id):
            return None
        self._count([class_id], taken)

        def hold(slot: int, gone: Collection[int]) -> bool:
            with self._view.without([row for row in gone if row not in self._gone]):
                return allows(self._view.table, self._view.state, class_id, slot)

        return hold

    @contextmanager
    def without(
        self, class_id: int, taken: Sequence[PromisedCandidate], rows: Collection[int]
    ) -> Iterator[None]:
        """Context manager that counts the promises of the cycle, without some pods."""
        self._count([class_id], taken)
        with self._view.without([row for row in rows if row not in self._gone]):
            yield

    def volumes_fit(self, row: int, judged: VolumeJudgement) -> Holds:
        """Return a check of the volume rules of a pod after some evictions."""
        volumes = self.volumes
        assert volumes is not None
        return lambda slot, gone: volumes.fits_without(row, judged, slot, gone)

    def judge_volumes(self, row: int, taken: Sequence[PromisedCandidate]) -> VolumeJudgement | None:
        """The volume rule results for a pod; ``None`` if it has no volumes."""
        if self.volumes is None or not self._cluster.pods.volumes[row]:
            return None
        if self._mounted is None:
            self.volumes.view.sync()
            self._mounted = []
        for each in taken[len(self._mounted) :]:
            self._mount(each, 1)
            self._mounted.append(each)
        return self.volumes.judge(row)

    def take_back(self, taken: Sequence[PromisedCandidate]) -> None:
        """Revert these promises, the latest ones."""
        while len(self._counted) > len(taken):
            self._tally(self._counted.pop(), -1)
        while self._mounted is not None and len(self._mounted) > len(taken):
            self._mount(self._mounted.pop(), -1)

    def evicted_pods(self, slot: int, priority: int) -> list[int]:
        """Rows of lower priority that are being evicted from a slot."""
        pods = self._cluster.pods
        return [
            row
            for row in self._cluster.evictions.on_slot(slot)
            if pods.priority[row] < priority
            and int(pods.eviction_state[row]) == EvictionState.EVICTING
        ]

    def are_compatible(
        self, mine: Sequence[PromisedCandidate], taken: Sequence[PromisedCandidate]
    ) -> bool:
        """Return whether the promises hold one after the other, without all of their victims."""
        if len(mine) < 2 or not any(self.is_strict(each.class_id) for each in mine):
            return True
        self._count([each.class_id for each in mine], taken)
        view, stand = self._view, True
        for each in mine:
            view.take(each.class_id, each.candidate.slot, -1)
        for each in mine:
            slot = each.candidate.slot
            stand = stand and allows(view.table, view.state, each.class_id, slot)
            view.take(each.class_id, slot, 1)
        return stand

    def _count(self, class_ids: Sequence[int], taken: Sequence[PromisedCandidate]) -> None:
        """Compile classes and apply the promises of the cycle to the counts."""
        wanted = {*class_ids, *(each.class_id for each in taken[len(self._counted) :])}
        if self._view.ready(np.array(sorted(wanted), np.int32)):
            self._counted.clear()  # the view was rebuilt from the cluster
            self._gone.clear()
            self._view.ready(np.array(sorted({*wanted, *(t.class_id for t in taken)}), np.int32))
        for each in taken[len(self._counted) :]:
            self._tally(each, 1)
            self._counted.append(each)

    def _tally(self, each: PromisedCandidate, sign: int) -> None:
        """Apply a promise to the counts, or revert it."""
        slot, evicted_pods = each.candidate.slot, each.candidate.evicted_pods
        self._view.move(evicted_pods, -sign)
        self._view.take(each.class_id, slot, sign)
        self._view.placed(np.array([each.class_id], np.int32), np.array([slot], np.int32))
        (self._gone.update if sign > 0 else self._gone.difference_update)(evicted_pods)

    def _mount(self, each: PromisedCandidate, sign: int) -> None:
        """Apply a promise to the volume snapshot, or revert it."""
        assert self.volumes is not None
        view, pods = self.volumes.view, self._cluster.pods
        for row in each.candidate.evicted_pods:
            if pods.volumes[row]:
                view.show(row, NO_SLOT if sign > 0 else int(pods.slot[row]))
        if pods.volumes[each.row]:
            view.show(each.row, each.candidate.slot if sign > 0 else NO_SLOT)


def both_hold(one: Holds | None, other: Holds) -> Holds:
    """Combine two checks into one."""
    if one is None:
        return other
    return lambda slot, gone: other(slot, gone) and one(slot, gone)
