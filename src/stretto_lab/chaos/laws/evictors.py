"""Law 8 in the simulator: all evictors follow one order, so no two evict each other in turn.

The law checks every eviction that the plane starts: by priority, by a guarantee, from an
over-committed node, of a broken gang, and for a move. With its own sums it computes if the victim,
after it is pending again, may evict the pods that it was evicted for. Such a pair would evict each
other without end. A move must free its node or GPU, or the next plan moves the pod again. Moreover,
no unit evicts pods by its guarantee a second time without effect while nothing else has changed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from stretto.plane.plane import Plane
from stretto.state.queries.invariants import InvariantBreach
from stretto.state.queues.tree import QueueBranch
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import EvictionCause, EvictionState
from stretto.state.work.units import Unit
from stretto_lab.chaos.laws.moves import breaches_of_moves
from stretto_lab.chaos.laws.started import StepEvictions
from stretto_lab.chaos.world import ChaosWorld

_HOLDING: Final = frozenset({PodState.ASSUMED, PodState.BOUND, PodState.NOMINATED})
"""States of pods that hold capacity of a node."""


class Contender(NamedTuple):
    """A pod or gang that evicts another one or is evicted by it."""

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

    def __init__(self, world: ChaosWorld) -> None:
        """Start without any check."""
        #: Number of checks by evictor.
        self.checked: Counter[str] = Counter()
        self._world = world
        #: The state at the last reclaim of each unit, and its victims with their serial numbers.
        self._reclaimed: dict[str, tuple[int, list[tuple[int, int]]]] = {}
        self._granted = 0

    def follow_plane(self) -> None:
        """Reset for a new plane, which has no reclaim in flight."""
        self._reclaimed.clear()

    def count_grants(self, claims: int) -> None:
        """Count claims that the binder granted."""
        self._granted += claims

    def breaches(
        self, plane: Plane, started: StepEvictions, claimed: Collection[str]
    ) -> Iterator[InvariantBreach]:
        """Breaches by the evictions of one step, which claimed these pods."""
        usage = plane.dispatcher.reclaimer.usage
        for (cause, winners), rows in started.by_evictor().items():
            self.checked[f"8 evictions that were {cause.value}"] += len(rows)
            if cause is EvictionCause.RESCHEDULE:
                yield from breaches_of_moves(plane, rows, claimed)
            elif cause is EvictionCause.OVER_COMMITTED and usage is not None:
                yield from self._over_committed(plane, usage, rows)
            winner = plane.units.of_row(winners[0]) if winners else None
            if winner is None or usage is None:
                continue
            if cause is EvictionCause.RECLAIM:
                yield from self._again(plane, winner.key, rows)
            if cause is EvictionCause.GANG:
                yield from _gang_pair(plane, usage, winner, rows)
            else:
                yield from self._pairs(plane, usage, winners[0], rows)

    def _again(self, plane: Plane, key: str, rows: Sequence[int]) -> Iterator[InvariantBreach]:
        """Check that a unit does not reclaim a second time without effect."""
        serials = plane.cluster.pods.serial
        state = self._granted + self._world.changes
        before, gone = self._reclaimed.get(key, (-1, []))
        if before == state and all(serials[row] != serial for row, serial in gone):
            yield InvariantBreach(8, f"unit {key} evicts pods again, though nothing has changed")
        self._reclaimed[key] = state, [(row, int(serials[row])) for row in rows]

    def _pairs(
        self, plane: Plane, usage: QueueUsage, row: int, victims: Sequence[int]
    ) -> Iterator[InvariantBreach]:
        """Check that no victim has a right to evict the pod that it was evicted for."""
        used = _staying(plane, usage)
        winner = _contender(plane, usage, [row])
        if int(plane.cluster.pods.slot[row]) == NO_SLOT:  # it counts after its claim
            for branch in winner.queue.path:
                used.setdefault(branch, Counter()).update(winner.amounts)
        for each in victims:
            yield from _decided_twice(plane, _contender(plane, usage, [each]), winner, used)

    def _over_committed(
        self, plane: Plane, usage: QueueUsage, victims: Sequence[int]
    ) -> Iterator[InvariantBreach]:
        """Check that evicting the remaining pods of an over-committed node would not have sufficed.

        A remaining pod that a victim has a right to evict would be evicted for the victim later. A
        pod that was nominated in the same step stays.
        """
        pods, ledger = plane.cluster.pods, plane.cluster.ledger
        used, first = _staying(plane, usage), plane.config.profile.preemption.guarantees_first
        for each in victims:
            slot, loser = int(pods.slot[each]), _contender(plane, usage, [each])
            there = [
                row
                for row in pods.on_slot(slot).tolist()
                if pods.eviction_state[row] == EvictionState.NONE
                and int(pods.state[row]) in _HOLDING
            ]
            total = Counter(loser.amounts)
            for row in there:
                total.update(_contender(plane, usage, [row]).amounts)
            for row in there:
                other = _contender(plane, usage, [row])
                is_bound = int(pods.state[row]) == PodState.BOUND
                if is_bound and self._is_ours(pods.uid[row]) and _right(loser, other, used, first):
                    total.subtract(other.amounts)
            columns = ledger.alloc.shape[1]  # device kinds follow the columns
            if all(n <= int(ledger.alloc[slot, c]) for c, n in total.items() if c < columns):
                text = f"pod {loser.name} leaves an over-committed node for pods that it may evict"
                yield InvariantBreach(8, text)

    def _is_ours(self, uid: str) -> bool:
        """True if a pod of this scheduler has a controller and may be evicted."""
        role = self._world.members[uid].role
        return bool(role.owner) and not role.foreign and role.agrees != "false"


def _gang_pair(
    plane: Plane, usage: QueueUsage, unit: Unit, victims: Sequence[int]
) -> Iterator[InvariantBreach]:
    """Check that a released gang has no right to evict the gang that it was released for."""
    gang = plane.units.of_row(victims[0])
    pending = gang.pending if gang is not None else ()
    least = max(gang.min_member if gang is not None else 0, len(victims))
    loser = _contender(plane, usage, [*victims, *pending][:least])
    winner = _contender(plane, usage, list(unit.bound))
    yield from _decided_twice(plane, loser, winner, _staying(plane, usage))


def _decided_twice(
    plane: Plane, loser: Contender, winner: Contender, used: dict[QueueBranch, Counter[int]]
) -> Iterator[InvariantBreach]:
    first = plane.config.profile.preemption.guarantees_first
    why = _right(loser, winner, used, first)
    if why:
        text = f"pod {loser.name} is evicted for {winner.name}, which it may evict {why}"
        yield InvariantBreach(8, text)


def _staying(plane: Plane, usage: QueueUsage) -> dict[QueueBranch, Counter[int]]:
    """Usage of every queue without the pods that are being evicted."""
    found: dict[QueueBranch, Counter[int]] = {}
    for row, held in usage.held().items():
        if plane.cluster.pods.eviction_state[row] != EvictionState.NONE:
            continue
        for branch in usage.tree.leaf(held.queue).path:
            found.setdefault(branch, Counter()).update(dict(held.amounts))
    return found


def _contender(plane: Plane, usage: QueueUsage, rows: Sequence[int]) -> Contender:
    """Some pods of one unit as one contender."""
    pods, amounts = plane.cluster.pods, Counter[int]()
    for row in rows:
        amounts.update(dict(usage.pool.requests_of(int(pods.class_id[row]))))
    queue = usage.tree.leaf(usage.queue_of(rows[0]))
    priority = max(int(pods.priority[row]) for row in rows)
    return Contender(pods.name[rows[0]], queue, priority, dict(amounts))


def _right(
    loser: Contender, winner: Contender, used: dict[QueueBranch, Counter[int]], first: bool
) -> str:
    """The right by which the loser may evict the winner; empty if there is none."""
    if loser.priority > winner.priority and (not first or _may_lose(winner, loser, used)):
        return "by its priority"
    if not first and winner.priority > loser.priority:
        return ""
    return "by its guarantee" if _is_entitled(loser, winner, used) else ""


def _may_lose(pod: Contender, other: Contender, used: dict[QueueBranch, Counter[int]]) -> bool:
    """True if every queue of a pod keeps its guarantee without the pod, compared with another."""
    own = [branch for branch in pod.queue.path if branch not in other.queue.path]
    return all(
        used.get(branch, Counter())[column] - amount >= branch.guarantee[column]
        for branch in own
        for column, amount in pod.amounts.items()
        if amount and column in branch.guarantee
    )


def _is_entitled(pod: Contender, other: Contender, used: dict[QueueBranch, Counter[int]]) -> bool:
    """True if a pod is within the guarantee of its queue and the other pod has borrowed."""
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
