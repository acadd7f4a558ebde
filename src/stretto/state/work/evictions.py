"""Evictions in progress, and the nominations that wait for them.

Preemption, queue reclaim and the rescheduler evict pods; this registry contains the pods until they
have ended. A *nomination* is a unit's claim that is already charged and whose bind waits for its
victims. The registry belongs to the cluster, so that it survives a crash of the binder. Only the
binder writes to it, except for node names that a previous scheduler left on new pods.
"""

import heapq
from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple

import msgspec
import numpy as np

from stretto.state.rows.pods import NO_SLOT, Pods
from stretto.state.work.units import Unit, UnitKind


class EvictionState(IntEnum):
    """Eviction state of a pod, as stored in ``Pods.eviction_state``."""

    #: Not being evicted.
    NONE = 0
    #: Eviction in progress, by this scheduler or another component; the capacity will be free.
    EVICTING = 1
    #: The eviction does not complete: its capacity no longer counts as future free capacity.
    STUCK = 2


class EvictionCause(Enum):
    """Cause of an eviction."""

    #: A pod of higher priority needs the capacity.
    PREEMPTION = "preempted"
    #: A queue reclaims borrowed capacity.
    RECLAIM = "reclaimed"
    #: It runs better on another node.
    RESCHEDULE = "rescheduled"
    #: Its node is over-committed, and the pod does not run yet.
    OVER_COMMITTED = "over-committed"
    #: Its gang falls below its minimum without the evicted members.
    GANG = "gang evicted whole"


class EvictionOrder(msgspec.Struct, frozen=True):
    """Pods to evict, with cause and reason: the output of preemption, reclaim and rescheduling."""

    #: Rows of the pods.
    rows: tuple[int, ...]
    #: Serials of the pods.
    serials: tuple[int, ...]
    #: Machine-readable cause.
    cause: EvictionCause
    #: Human-readable reason, for the eviction and the pod's story.
    reason: str
    #: Rows that may be evicted despite a PodDisruptionBudget.
    beyond: frozenset[int] = frozenset()
    #: Rows of the pods that get the capacity; empty if no pod gets it.
    beneficiaries: tuple[int, ...] = ()


class VictimFacts(NamedTuple):
    """A pod whose eviction was started, with its data at that time."""

    #: Serial of the pod.
    serial: int
    #: Slot of its node.
    slot: int
    #: Name of its node; empty if the node is deleted.
    node: str
    #: ``namespace/name``.
    key: str
    #: Uid of the pod.
    uid: str
    #: Priority of the pod.
    priority: int


class StartedEvictions(NamedTuple):
    """Evictions that were started together, for reports and stories."""

    #: Cause of the evictions.
    cause: EvictionCause
    #: Human-readable reason, which names the beneficiary.
    reason: str
    #: The evicted pods.
    victims: tuple[VictimFacts, ...]
    #: Serials of the pods that get the capacity; empty if no pod gets it.
    beneficiaries: tuple[int, ...] = ()


class EvictionNews(NamedTuple):
    """Changes of evictions in one step."""

    #: Evictions that were started.
    started: tuple[StartedEvictions, ...] = ()
    #: Serials of pods that stay: their eviction was refused or withdrawn.
    cancelled: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything happened."""
        return bool(self.started or self.cancelled)


class ReclaimOutcome(Enum):
    """The result of the search for victims for a unit whose queue has a guarantee."""

    #: Pods are evicted or terminating, and the unit waits for their capacity.
    WAITING = "pods of other queues terminate for it"
    #: The queue, including the unit, exceeds its guarantee.
    ABOVE_GUARANTEE = "the unit would take its queue above its guarantee"
    #: A limit refuses the unit, and no borrowed capacity counts under that limit.
    LIMITED = "a limit refuses the unit, and no capacity was borrowed under it"
    #: ``maxRunningUnits`` refuses it.
    MOST_UNITS = "maxRunningUnits of its queue or of a parent refuses the unit"
    #: No victims: guarantees, budgets or protections forbid them, or they would not suffice.
    NO_VICTIMS = (
        "no pods may be evicted that let the unit start: guarantees of other queues, disruption "
        "budgets or protections keep them"
    )
    #: As above, and the unit requests resources that the guarantee does not name.
    UNNAMED_RESOURCE = (
        "no pods may be evicted that let the unit start; a guarantee reclaims only the resources "
        "that it names, and the unit requests others"
    )
    #: It fits without evictions.
    FITS = "the unit fits without evictions"


class PlannedPlace(NamedTuple):
    """The place of a pod whose unit reclaims capacity."""

    #: Row of the pod.
    row: int
    #: Serial of the pod.
    serial: int
    #: Slot of the node.
    slot: int
    #: Bit mask of its devices and NUMA nodes.
    devices: int
    #: Rows to evict for it.
    victims: tuple[int, ...] = ()
    #: Rows whose eviction from the slot is already in progress.
    awaited: tuple[int, ...] = ()


class PendingEviction(msgspec.Struct):
    """One eviction in progress."""

    #: Serial of the pod.
    serial: int
    #: Slot of its node.
    slot: int
    #: Cause; ``None`` if another component evicts it.
    cause: EvictionCause | None
    #: Human-readable reason.
    reason: str
    #: True if it may violate its budgets.
    beyond: bool = False
    #: True if the store has accepted the eviction, or shows the pod terminating.
    acknowledged: bool = False
    #: Clock time of the next eviction request.
    retry_at: float = 0.0
    #: True if a response is outstanding: then the pod is read before the next request.
    in_doubt: bool = False
    #: Rows of the pods that get the capacity; empty if no pod gets it.
    beneficiaries: tuple[int, ...] = ()

    def acknowledge(self) -> None:
        """Record that the store has accepted the eviction, or shows the pod terminating."""
        self.acknowledged = True

    def follow(self, slot: int) -> None:
        """Record the current slot of the pod."""
        self.slot = slot


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
    #: Rows of the victims that have not ended yet, with their serials.
    victims: dict[int, int]
    #: Number of the claims that must be granted together.
    at_least: int
    #: Clock time of creation.
    since: float
    #: Clock time of expiry.
    until: float
    #: True if ``nominatedNodeName`` was written to the pods.
    node_written: bool = False
    #: (row, serial) of pods whose eviction was already in progress; dropped if it is stuck.
    awaited: tuple[tuple[int, int], ...] = ()


def short_of(unit: Unit, pods: Pods) -> int:
    """Number of pods that a gang will lack after its evicted members have ended.

    The result is 0 if no member is being evicted, and at most 0 if enough members remain. A member
    whose eviction is stuck counts as being evicted, because it may have ended by now.
    """
    if not unit.is_gang or not unit.bound:
        return 0
    evicted = pods.eviction_state[np.array(list(unit.bound), np.int64)] != EvictionState.NONE
    return unit.min_member - int(np.count_nonzero(~evicted)) if evicted.any() else 0


def unit_name(unit: Unit, pods: Pods) -> str:
    """Name of a unit for users: ``namespace/name`` of its PodGroup, its owner or its only pod."""
    if unit.kind is not UnitKind.POD:
        return unit.key.partition("/")[2]
    return next((pods.key(row) for row in (*unit.pending, *unit.bound)), unit.key)


class Evictions:
    """Pods being evicted, and nominations."""

    def __init__(self, pods: Pods) -> None:
        """Start empty."""
        #: Evictions in progress, by row.
        self.in_progress: dict[int, PendingEviction] = {}
        #: Nominations by row of each of their claims.
        self.nominations: dict[int, Nomination] = {}
        #: Serials, by row, of pending pods that were first seen with a ``nominatedNodeName`` left
        #: by a previous scheduler; readers remove the entries they process.
        self.inherited: dict[int, int] = {}
        #: Number of pods evicted by this scheduler, by cause.
        self.counts: dict[EvictionCause, int] = dict.fromkeys(EvictionCause, 0)
        self._pods = pods
        self._on_slot: dict[int, set[int]] = {}
        self._by_victim: dict[int, Nomination] = {}
        #: Pending nominations, with numbers in order of creation.
        self.pending: dict[Nomination, int] = {}
        self._made = 0
        #: Pending nominations whose victims have all ended.
        self._ready: set[Nomination] = set()
        #: Expiry times with their numbers; entries of ended nominations are removed lazily.
        self._by_time: list[tuple[float, int, Nomination]] = []
        self._nominees: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        """Return whether there is any eviction or nomination."""
        return bool(self.in_progress or self.nominations)

    def is_being_evicted(self, row: int) -> bool:
        """Return whether a pod is being evicted."""
        return int(self._pods.eviction_state[row]) == EvictionState.EVICTING

    def is_ours(self, row: int) -> bool:
        """Return whether this scheduler evicts a pod."""
        known = self.in_progress.get(row)
        return known is not None and known.cause is not None

    def begin(self, row: int, why: PendingEviction) -> None:
        """Register an eviction by this scheduler or another component."""
        known = self.in_progress.get(row)
        if known is not None and known.serial == why.serial:
            if why.acknowledged:
                known.acknowledge()
            return
        self.in_progress[row] = why
        self._pods.eviction_state[row] = EvictionState.EVICTING
        self._index(row, why)

    def follow(self, row: int) -> None:
        """Record the current slot of a pod, if it is being evicted.

        A node that is removed and added again gets another slot, and its pods follow it.
        """
        why = self.in_progress.get(row)
        if why is not None:
            self._drop_from_index(row, why)
            why.follow(int(self._pods.slot[row]))
            self._index(row, why)

    def cancel(self, row: int) -> None:
        """Cancel the eviction of a pod."""
        self._pods.eviction_state[row] = EvictionState.NONE
        self._forget(row)

    def mark_stuck(self, row: int) -> None:
        """Mark an eviction as stuck: its capacity no longer counts until the pod ends."""
        self._pods.eviction_state[row] = EvictionState.STUCK

    def sweep(self, rows: Iterable[int]) -> None:
        """Remove the entries of pods that have ended."""
        serials = self._pods.serial
        for row in rows:
            each = self.in_progress.get(row)
            if each is None or serials[row] == each.serial:
                continue
            if each.cause is not None and each.acknowledged:
                self.counts[each.cause] += 1
            self._forget(row)

    def on_slot(self, slot: int) -> list[int]:
        """Rows being evicted from a slot, without stuck ones."""
        pods = self._pods
        return [
            row
            for row in self._on_slot.get(slot, ())
            if pods.slot[row] == slot
            and int(pods.eviction_state[row]) == EvictionState.EVICTING
            and pods.serial[row] == self.in_progress[row].serial
        ]

    def nominate(self, nomination: Nomination) -> None:
        """Register a nomination."""
        self._made += 1
        self.pending[nomination] = self._made
        heapq.heappush(self._by_time, (nomination.until, self._made, nomination))
        if not nomination.victims:
            self._ready.add(nomination)
        for row in nomination.rows:
            self.nominations[row] = nomination
            self._nominees.setdefault(int(self._pods.slot[row]), set()).add(row)
        self._by_victim.update(dict.fromkeys(nomination.victims, nomination))

    def end(self, nomination: Nomination) -> None:
        """Remove a nomination."""
        self.pending.pop(nomination, None)
        self._ready.discard(nomination)
        for row in nomination.rows:
            if self.nominations.get(row) is nomination:
                del self.nominations[row]
        for slot in nomination.slots:
            rows = self._nominees.get(slot, set())
            rows.difference_update(nomination.rows)
            if not rows:
                self._nominees.pop(slot, None)
        for row in nomination.victims:
            if self._by_victim.get(row) is nomination:
                del self._by_victim[row]

    def record_victim_ended(self, nomination: Nomination, victim: int) -> None:
        """Record the end of a victim."""
        del nomination.victims[victim]
        if self._by_victim.get(victim) is nomination:
            del self._by_victim[victim]
        if not nomination.victims and nomination in self.pending:
            self._ready.add(nomination)

    def waits(self, nomination: Nomination) -> bool:
        """Return whether a nomination is pending."""
        return nomination in self.pending

    def next_until(self) -> float:
        """Clock time of the next expiry; infinity if there is no nomination."""
        times = self._by_time
        while times and times[0][2] not in self.pending:
            heapq.heappop(times)
        return times[0][0] if times else float("inf")

    def due(self, rows: Iterable[int], now: float) -> list[Nomination]:
        """Return the nominations to process, in order of creation.

        These are the nominations with one of the rows as claim or victim, those whose victims have
        all ended, and expired ones.
        """
        found = {*self._about(rows), *self._ready}
        while self.next_until() <= now:
            found.add(heapq.heappop(self._by_time)[2])
        return sorted(found, key=self.pending.__getitem__)

    def waiting(self) -> list[Nomination]:
        """All nominations in order of creation."""
        return list(self.pending)

    def nomination_of(self, row: int) -> Nomination | None:
        """The nomination that waits for the end of a pod, if any."""
        found = self._by_victim.get(row)
        return found if found is not None and row in found.victims else None

    def nominated_on(self, slot: int) -> Sequence[int]:
        """Rows of the nominated claims on a slot."""
        return [r for r in self._nominees.get(slot, ()) if self._pods.slot[r] == slot]

    def _about(self, rows: Iterable[int]) -> set[Nomination]:
        """Nominations that have one of the rows as claim or victim."""
        both = (self.nominations, self._by_victim)
        return {found for row in rows for each in both if (found := each.get(row)) is not None}

    def _forget(self, row: int) -> None:
        ended = self.in_progress.pop(row, None)
        if ended is not None:
            self._drop_from_index(row, ended)

    def _index(self, row: int, why: PendingEviction) -> None:
        if why.slot != NO_SLOT:
            self._on_slot.setdefault(why.slot, set()).add(row)

    def _drop_from_index(self, row: int, why: PendingEviction) -> None:
        rows = self._on_slot.get(why.slot)
        if rows is not None:
            rows.discard(row)
            if not rows:
                del self._on_slot[why.slot]
