"""Law 4 in the simulator: all evictors follow one order, so no two evict each other in turn.

The law looks at every eviction for a pod: by priority and by a guarantee. It computes, with sums of
its own, whether the victim, pending again, would have a right against the pod that it was evicted
for. Such a pair would be decided again and again. Besides, no unit evicts pods by its guarantee a
second time in vain while nothing else has changed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stretto.plane.config import Step
from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.queues.tree import QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionCause, EvictionState
from stretto.state.work.units import Unit


class Contender(NamedTuple):
    """A pod that evicts another one, or the other one."""

    #: Its name.
    name: str
    #: Its queue.
    queue: QueueBranch
    #: Its priority.
    priority: int
    #: Its requests by column.
    amounts: dict[int, int]


class EvictorLaw:
    """Checks the evictions that the plane starts."""

    def __init__(self) -> None:
        """Start without any check."""
        #: Number of pairs of a pod and its victim that were checked.
        self.looks = 0
        self._seen: set[int] = set()
        #: The state at the last reclaim of each unit, and its victims with their serials.
        self._reclaimed: dict[Unit, tuple[int, list[tuple[int, int]]]] = {}
        self._granted = 0

    def follow_plane(self) -> None:
        """Reset for a new plane, which has no reclaim in flight."""
        self._seen.clear()
        self._reclaimed.clear()

    def look_at(self, plane: Plane, step: Step, changes: int) -> Iterator[InvariantBreach]:
        """Breaches by the evictions of one step.

        Args:
            plane: the plane.
            step: its plans and verdicts.
            changes: number of changes of the world so far.
        """
        usage = plane.dispatcher.reclaimer.usage
        self._granted += sum(len(v.granted) + len(v.nominated) for v in step.verdicts)
        serials = plane.cluster.pods.serial
        if usage is None:
            return
        for row, victims in _preemptions(step):
            yield from self._pairs(plane, usage, row, victims)
        for unit, gone_for in self._reclaims(plane):
            state = self._granted + changes
            before, gone = self._reclaimed.get(unit, (-1, []))
            if before == state and all(serials[row] != serial for row, serial in gone):
                text = f"unit {unit.key} evicts pods again, though nothing has changed"
                yield InvariantBreach(4, text)
            self._reclaimed[unit] = state, [(row, int(serials[row])) for row in gone_for]
            for row in unit.pending[:1]:
                yield from self._pairs(plane, usage, row, gone_for)

    def _reclaims(self, plane: Plane) -> Iterator[tuple[Unit, list[int]]]:
        """New reclaims with the rows that are evicted for them."""
        evicted, now = plane.cluster.evictions.in_progress, set[int]()
        for unit, reclaim in plane.dispatcher.reclaimer.in_flight.items():
            now.add(id(reclaim.places))
            if id(reclaim.places) in self._seen:
                continue
            rows = [
                row
                for row, serial in reclaim.leaving
                if row in evicted
                and evicted[row].serial == serial
                and evicted[row].cause is EvictionCause.RECLAIM
            ]
            if rows:
                yield unit, rows
        self._seen = now

    def _pairs(
        self, plane: Plane, usage: QueueUsage, row: int, victims: Iterable[int]
    ) -> Iterator[InvariantBreach]:
        """Check that no victim has a right against the pod that it was evicted for."""
        used = _staying(plane, usage)
        winner = _contender(plane, usage, row)
        if int(plane.cluster.pods.slot[row]) == NO_SLOT:  # it counts from its claim on
            for branch in winner.queue.path:
                used.setdefault(branch, Counter()).update(winner.amounts)
        first = plane.config.profile.preemption.guarantees_first
        for each in victims:
            self.looks += 1
            loser = _contender(plane, usage, each)
            why = _right(loser, winner, used, first)
            if why:
                text = f"pod {loser.name} is evicted for {winner.name}, which it may evict {why}"
                yield InvariantBreach(4, text)


def _preemptions(step: Step) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Granted preemptions: a row of the preemptor, and its victims."""
    for plan, verdict in zip(step.plans, step.verdicts, strict=True):
        nominated = set(verdict.nominated.tolist())
        for each in plan.preemptions:
            claims = plan.units[each.claims]
            rows = plan.rows[claims.start : claims.stop].tolist()
            if rows and nominated.issuperset(rows):
                yield rows[0], each.victims


def _staying(plane: Plane, usage: QueueUsage) -> dict[QueueBranch, Counter[int]]:
    """Usage of every queue without the pods that are being evicted."""
    found: dict[QueueBranch, Counter[int]] = {}
    for row, held in usage.held().items():
        if plane.cluster.pods.eviction_state[row] != EvictionState.NONE:
            continue
        for branch in usage.tree.leaf(held.queue).path:
            found.setdefault(branch, Counter()).update(dict(held.amounts))
    return found


def _contender(plane: Plane, usage: QueueUsage, row: int) -> Contender:
    pods = plane.cluster.pods
    amounts = dict(usage.pool.requests_of(int(pods.class_id[row])))
    queue = usage.tree.leaf(usage.queue_of(row))
    return Contender(pods.name[row], queue, int(pods.priority[row]), amounts)


def _right(
    loser: Contender, winner: Contender, used: dict[QueueBranch, Counter[int]], first: bool
) -> str:
    """By which right the loser may evict the winner; empty if by none."""
    if loser.priority > winner.priority and (not first or _may_lose(winner, loser, used)):
        return "by its priority"
    if not first and winner.priority > loser.priority:
        return ""
    return "by its guarantee" if _is_entitled(loser, winner, used) else ""


def _may_lose(pod: Contender, other: Contender, used: dict[QueueBranch, Counter[int]]) -> bool:
    """Whether every queue of a pod keeps its guarantee without it, against another pod."""
    own = [branch for branch in pod.queue.path if branch not in other.queue.path]
    return all(
        used.get(branch, Counter())[column] - amount >= branch.guarantee[column]
        for branch in own
        for column, amount in pod.amounts.items()
        if amount and column in branch.guarantee
    )


def _is_entitled(pod: Contender, other: Contender, used: dict[QueueBranch, Counter[int]]) -> bool:
    """Whether a pod is within the guarantee of its queue, and another one has borrowed."""
    columns: set[int] = set()
    for branch in pod.queue.path:
        if branch in other.queue.path:
            break
        named = {c: n for c, n in pod.amounts.items() if c in branch.guarantee}
        mine = used.get(branch, Counter())
        if not named or any(mine[c] + n > branch.guarantee[c] for c, n in named.items()):
            return False
        columns = columns or {c for c, n in named.items() if n}
    own = [branch for branch in other.queue.path if branch not in pod.queue.path]
    borrows = all(
        any(used.get(b, Counter())[c] > b.guarantee.get(c, 0) for c in columns) for b in own
    )
    return bool(own) and bool(columns & other.amounts.keys()) and borrows
