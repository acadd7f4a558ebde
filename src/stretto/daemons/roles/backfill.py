"""Units of backfilling queues that fit no node stay at the dispatcher, which reserves for them.

A shard has no queue order. If the head of a backfilling queue waited at a shard, the dispatcher
could not plan around it.
"""

from collections import Counter
from collections.abc import Iterable

from stretto.plane.plane import Plane
from stretto.state.victims.rules import may_preempt
from stretto.state.work.units import Dispatch, Setback


class BackfillHeads:
    """Selects the units that stay at the dispatcher."""

    def __init__(self, plane: Plane) -> None:
        """Select from the units of the queues of a dispatcher's plane."""
        self._plane = plane

    def setbacks(self, work: Iterable[Dispatch]) -> list[Setback]:
        """Setbacks for units about to be dispatched that fit no node and may evict no pod."""
        found: list[Setback] = []
        gone: Counter[int] = Counter()
        class_of, plane = self._plane.cluster.pods.class_id, self._plane
        for dispatch in work:
            need = Counter(int(class_of[row]) for row in dispatch.rows[: dispatch.at_least])
            full = [c for c, n in need.items() if plane.capacity(c) - gone[c] < n]
            if full and self._is_kept(dispatch):
                cures = plane.engine.cures_of(full[0])
                found.append(Setback(dispatch.unit, dispatch.rows, full[0], cures))
            else:
                gone.update(need)
        return found

    def _is_kept(self, dispatch: Dispatch) -> bool:
        """Return whether a unit backfills without planned nodes and without the right to evict."""
        plane = self._plane
        if dispatch.slots or not plane.dispatcher.sender.backfill.is_used_by(dispatch.unit):
            return False
        pods, rules = plane.cluster.pods, plane.config.profile.preemption
        return not rules.enabled or not any(
            int(pods.priority[row]) > pods.lowest and may_preempt(plane.cluster, row)
            for row in dispatch.rows
        )
