"""What a finder of victims knows of rules that depend on other pods: between pods, about volumes.

It looks at the shard's own snapshot, with what was promised in the cycle taken out of it or counted
there. That is done when a pod with such rules is asked about, and not before: the others pay
nothing. Whatever is changed here is put right by the snapshot's next ``sync``.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from stretto.framework.affinity.headcounts import EvictionPreview, eviction_preview
from stretto.framework.compiled.affinity import allows
from stretto.framework.compiled.one_node import Holds, VictimCandidate
from stretto.framework.engine.runtime import Runtime
from stretto.framework.volumes.rules import VolumeJudgement, VolumeRules
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionState


class PromisedCandidate(NamedTuple):
    """What was promised."""

    #: The node, and who leaves it.
    candidate: VictimCandidate
    #: Number of what the preemptor asks, in the index of victims.
    ask: int
    #: Its class.
    class_id: int
    #: Its row.
    row: int


class PreemptorRules:
    """Other pods, as the rules of a preemptor look at them."""

    def __init__(self, runtime: Runtime) -> None:
        """Look at a shard's snapshot."""
        #: What says where the volumes of pods let them go; ``None`` where no rule looks at them.
        self.volumes: VolumeRules | None = None
        self._cluster = runtime.engine.cluster
        self._view = runtime.between
        #: Promises that the snapshot's counts show, and whom it therefore counts no more.
        self._counted: list[PromisedCandidate] = []
        self._gone: set[int] = set()
        #: Promises that the volumes' snapshot shows; ``None`` where that is of another cycle.
        self._mounted: list[PromisedCandidate] | None = None

    def begin(self) -> None:
        """A new cycle: the snapshot has been brought up to date."""
        self._counted.clear()
        self._gone.clear()
        self._mounted = None

    def is_strict(self, class_id: int) -> bool:
        """Whether other pods may keep a class from nodes, or must be there."""
        classes = self._cluster.classes
        return bool(classes.judged[class_id]) and classes[class_id].terms.strict

    def heads(self, class_id: int, taken: Sequence[PromisedCandidate]) -> EvictionPreview | None:
        """What rules between pods say of every node to a class; ``None`` where it has none."""
        if not self.is_strict(class_id):
            return None
        self._count([class_id], taken)
        return eviction_preview(self._view, class_id)

    def holds(self, class_id: int, taken: Sequence[PromisedCandidate]) -> Holds | None:
        """Asks rules between pods once some rows have gone; ``None`` where a class has none."""
        if not self.is_strict(class_id):
            return None
        self._count([class_id], taken)

        def hold(slot: int, gone: Collection[int]) -> bool:
            with self._view.without([row for row in gone if row not in self._gone]):
                return allows(self._view.table, self._view.state, class_id, slot)

        return hold

    def volumes_fit(self, row: int, judged: VolumeJudgement) -> Holds:
        """Asks the volume rules about a pod once some rows have gone."""
        volumes = self.volumes
        assert volumes is not None
        return lambda slot, gone: volumes.fits_without(row, judged, slot, gone)

    def judge_volumes(self, row: int, taken: Sequence[PromisedCandidate]) -> VolumeJudgement | None:
        """What the volume rules say of a pod; ``None`` where it has no volumes."""
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
        """These are promised no more, the last ones there were."""
        while len(self._counted) > len(taken):
            self._tally(self._counted.pop(), -1)
        while self._mounted is not None and len(self._mounted) > len(taken):
            self._mount(self._mounted.pop(), -1)

    def evicted_pods(self, slot: int, priority: int) -> list[int]:
        """Rows of lower priority that leave a slot."""
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
        """Whether promises hold one after the other, with all who leave for them gone."""
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
        """Have classes compiled, and the promises of the cycle counted."""
        wanted = {*class_ids, *(each.class_id for each in taken[len(self._counted) :])}
        if self._view.ready(np.array(sorted(wanted), np.int32)):
            self._counted.clear()  # the view was made anew from the cluster
            self._gone.clear()
            self._view.ready(np.array(sorted({*wanted, *(t.class_id for t in taken)}), np.int32))
        for each in taken[len(self._counted) :]:
            self._tally(each, 1)
            self._counted.append(each)

    def _tally(self, each: PromisedCandidate, sign: int) -> None:
        """Count what a promise changes, or as it was."""
        slot, evicted_pods = each.candidate.slot, each.candidate.evicted_pods
        self._view.move(evicted_pods, -sign)
        self._view.take(each.class_id, slot, sign)
        self._view.placed(np.array([each.class_id], np.int32), np.array([slot], np.int32))
        (self._gone.update if sign > 0 else self._gone.difference_update)(evicted_pods)

    def _mount(self, each: PromisedCandidate, sign: int) -> None:
        """Show what a promise changes about volumes, or as it was."""
        assert self.volumes is not None
        view, pods = self.volumes.view, self._cluster.pods
        for row in each.candidate.evicted_pods:
            if pods.volumes[row]:
                view.show(row, NO_SLOT if sign > 0 else int(pods.slot[row]))
        if pods.volumes[each.row]:
            view.show(each.row, each.candidate.slot if sign > 0 else NO_SLOT)


def both_hold(one: Holds | None, other: Holds) -> Holds:
    """Two questions as one."""
    if one is None:
        return other
    return lambda slot, gone: other(slot, gone) and one(slot, gone)
