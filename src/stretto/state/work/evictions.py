"""Pods that are to leave, and the claims that wait for their room.

Preemption, the reclaim of a queue's share and the rescheduler all ask pods to leave; whoever asks,
the pods stand here until they have gone. A *nomination* is a unit's claim that is charged already
and whose bind waits for its victims. The registry belongs to the cluster, so that a binder that
dies leaves it to the next one; the binder alone writes here, but for what others have written on
new pods.
"""

import heapq
from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum

import msgspec
import numpy as np

from stretto.state.rows.pods import NO_SLOT, Pods
from stretto.state.work.units import Unit


class EvictionState(IntEnum):
    """Whether a pod stays on its node, as ``Pods.eviction_state`` holds it."""

    #: It stays.
    STAYS = 0
    #: It has been asked to leave, or somebody has asked it; its room will be free.
    LEAVES = 1
    #: It was asked and does not go: its room is not counted on any more.
    STUCK = 2


class EvictionCause(Enum):
    """Why pods are asked to leave."""

    #: A pod of higher priority needs the room.
    PREEMPTION = "preempted"
    #: A queue wants back what it lent.
    RECLAIM = "reclaimed"
    #: It runs better elsewhere.
    RESCHEDULE = "rescheduled"
    #: Its node gives more than it has, and the pod does not run yet.
    RELIEF = "over-committed"
    #: Its gang falls below its minimum without those that were asked.
    GANG = "gang evicted whole"


class EvictionOrder(msgspec.Struct, frozen=True):
    """Pods that shall leave, and why: what preemption, reclaim and rescheduling hand over."""

    #: Their rows.
    rows: tuple[int, ...]
    #: Their serials.
    serials: tuple[int, ...]
    #: Why, for machines.
    cause: EvictionCause
    #: Why, for people: stands in the eviction and in the story of the pod.
    reason: str
    #: Rows that may be taken although a disruption budget forbids it.
    beyond: frozenset[int] = frozenset()


class PendingEviction(msgspec.Struct):
    """One pod that is to leave."""

    #: Its serial.
    serial: int
    #: The slot on which it is.
    slot: int
    #: Why; ``None`` when somebody else asked it.
    cause: EvictionCause | None
    #: Why, for people.
    reason: str
    #: Whether it may go beyond its budgets.
    beyond: bool = False
    #: Whether the store has said yes, or shows it leaving.
    acknowledged: bool = False
    #: Clock time at which to ask (again).
    retry_at: float = 0.0
    #: Whether an answer is outstanding: look before asking again.
    in_doubt: bool = False


class Nomination(msgspec.Struct, eq=False):
    """Claims of one unit that wait for their victims."""

    #: The unit.
    unit: Unit
    #: Rows of the claims.
    rows: tuple[int, ...]
    #: Serials of these pods.
    serials: tuple[int, ...]
    #: Slots of the claims.
    slots: frozenset[int]
    #: Rows of the victims that have not left yet, with their serials.
    victims: dict[int, int]
    #: Every victim's serial, gone or not.
    asked: tuple[int, ...]
    #: How many of the claims must stand together.
    at_least: int
    #: Clock time at which it was made.
    since: float
    #: Clock time after which it is void.
    until: float
    #: Whether the node was written on the pods.
    told: bool = False
    #: (row, serial) of pods that leave anyway: not counted on any more where they do not.
    awaited: tuple[tuple[int, int], ...] = ()


def short_of(unit: Unit, pods: Pods) -> int:
    """How many pods a gang will lack once those of it that were asked to leave have left.

    0 where none was asked, and at the most 0 where enough stay. One that does not go when asked may
    have gone by now for all we know: it counts as leaving.
    """
    if not unit.is_gang or not unit.bound:
        return 0
    leaves = pods.eviction_state[np.array(list(unit.bound), np.int64)] != EvictionState.NONE
    return unit.min_member - int(np.count_nonzero(~leaves)) if leaves.any() else 0


class Evictions:
    """Who leaves, and who waits for them."""

    def __init__(self, pods: Pods) -> None:
        """Nobody leaves."""
        #: Pods that are to leave, by row.
        self.leaving: dict[int, PendingEviction] = {}
        #: Nominations by row of each of their claims.
        self.nominations: dict[int, Nomination] = {}
        #: Serials of pods that wait and were first seen with a node's name of which nobody here
        #: knows: a predecessor's word. By row; whoever takes one up takes it out.
        self.inherited: dict[int, int] = {}
        #: Pods that have left on our word so far, by cause.
        self.counts: dict[EvictionCause, int] = dict.fromkeys(EvictionCause, 0)
        self._pods = pods
        self._on_slot: dict[int, set[int]] = {}
        self._wanting: dict[int, Nomination] = {}
        #: Claims that wait, with their numbers in the order in which they were made.
        self._waiting: dict[Nomination, int] = {}
        self._made = 0
        #: Those of them whose victims have all left.
        self._unhindered: set[Nomination] = set()
        #: When each is void, with its number; those that wait no more are struck off late.
        self._by_time: list[tuple[float, int, Nomination]] = []
        self._nominees: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        """Whether anybody leaves or waits."""
        return bool(self.leaving or self.nominations)

    def is_being_evicted(self, row: int) -> bool:
        """Whether a pod is known to leave."""
        return int(self._pods.eviction_state[row]) == EvictionState.EVICTING

    def is_ours(self, row: int) -> bool:
        """Whether a pod leaves on our word."""
        known = self.leaving.get(row)
        return known is not None and known.cause is not None

    def leave(self, row: int, why: PendingEviction) -> None:
        """A pod is to leave, or somebody has asked it to."""
        known = self.leaving.get(row)
        if known is not None and known.serial == why.serial:
            known.acknowledged = known.acknowledged or why.acknowledged
            return
        self.leaving[row] = why
        self._pods.eviction_state[row] = EvictionState.EVICTING
        if why.slot != NO_SLOT:
            self._on_slot.setdefault(why.slot, set()).add(row)

    def stays(self, row: int) -> None:
        """A pod stays after all."""
        self._pods.eviction_state[row] = EvictionState.NONE
        self._forget(row)

    def mark_stuck(self, row: int) -> None:
        """A pod does not go: nobody counts on its room until it does."""
        self._pods.eviction_state[row] = EvictionState.STUCK

    def sweep(self, rows: Iterable[int]) -> None:
        """Forget those of some pods that have gone."""
        serials = self._pods.serial
        for row in rows:
            each = self.leaving.get(row)
            if each is None or serials[row] == each.serial:
                continue
            if each.cause is not None and each.acknowledged:
                self.counts[each.cause] += 1
            self._forget(row)

    def on_slot(self, slot: int) -> list[int]:
        """Rows that leave a slot, those that do not go left out."""
        pods = self._pods
        return [
            row
            for row in self._on_slot.get(slot, ())
            if pods.slot[row] == slot
            and int(pods.eviction_state[row]) == EvictionState.EVICTING
            and pods.serial[row] == self.leaving[row].serial
        ]

    def nominate(self, nomination: Nomination) -> None:
        """Claims wait for their victims."""
        self._made += 1
        self._waiting[nomination] = self._made
        heapq.heappush(self._by_time, (nomination.until, self._made, nomination))
        if not nomination.victims:
            self._unhindered.add(nomination)
        for row in nomination.rows:
            self.nominations[row] = nomination
            self._nominees.setdefault(int(self._pods.slot[row]), set()).add(row)
        self._wanting.update(dict.fromkeys(nomination.victims, nomination))

    def end(self, nomination: Nomination) -> None:
        """Claims wait no more."""
        self._waiting.pop(nomination, None)
        self._unhindered.discard(nomination)
        for row in nomination.rows:
            if self.nominations.get(row) is nomination:
                del self.nominations[row]
        for slot in nomination.slots:
            rows = self._nominees.get(slot, set())
            rows.difference_update(nomination.rows)
            if not rows:
                self._nominees.pop(slot, None)
        for row in nomination.victims:
            if self._wanting.get(row) is nomination:
                del self._wanting[row]

    def record_victim_ended(self, nomination: Nomination, victim: int) -> None:
        """One of those that claims wait for has gone."""
        del nomination.victims[victim]
        if self._wanting.get(victim) is nomination:
            del self._wanting[victim]
        if not nomination.victims and nomination in self._waiting:
            self._unhindered.add(nomination)

    def waits(self, nomination: Nomination) -> bool:
        """Whether claims still wait."""
        return nomination in self._waiting

    def next_until(self) -> float:
        """Clock time at which the first nomination is void; infinity where nobody waits."""
        times = self._by_time
        while times and times[0][2] not in self._waiting:
            heapq.heappop(times)
        return times[0][0] if times else float("inf")

    def due(self, rows: Iterable[int], now: float) -> list[Nomination]:
        """The nominations to look at, in the order in which they were made.

        Those of which some pods are claims or victims, those whose victims have all left, and those
        that are out of time.
        """
        found = {*self._about(rows), *self._unhindered}
        while self.next_until() <= now:
            found.add(heapq.heappop(self._by_time)[2])
        return sorted(found, key=self._waiting.__getitem__)

    def waiting(self) -> list[Nomination]:
        """Every nomination once, in the order in which they were made."""
        return list(self._waiting)

    def nomination_of(self, row: int) -> Nomination | None:
        """The nomination that waits for a pod to leave, if one does."""
        found = self._wanting.get(row)
        return found if found is not None and row in found.victims else None

    def nominated_on(self, slot: int) -> Sequence[int]:
        """Rows of the claims that wait on a slot."""
        return [r for r in self._nominees.get(slot, ()) if self._pods.slot[r] == slot]

    def _about(self, rows: Iterable[int]) -> set[Nomination]:
        """The nominations of which some pods are claims or victims."""
        both = (self.nominations, self._wanting)
        return {found for row in rows for each in both if (found := each.get(row)) is not None}

    def _forget(self, row: int) -> None:
        gone = self.leaving.pop(row, None)
        if gone is None:
            return
        rows = self._on_slot.get(gone.slot)
        if rows is not None:
            rows.discard(row)
            if not rows:
                del self._on_slot[gone.slot]
