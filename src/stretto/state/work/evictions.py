"""Evictions in progress.

Preemption, queue reclaim and the rescheduler evict pods; this registry contains the pods until they
have ended. It belongs to the cluster, so that it survives a crash of the binder, and only the
binder writes to it.
"""

from collections.abc import Iterable
from enum import Enum, IntEnum
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.state.rows.lifecycle import PodState
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
    #: The node of the pod is over-committed, and the pod does not run yet.
    OVER_COMMITTED = "over-committed"
    #: The gang of the pod falls below its minimum without the evicted members.
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
    #: True if the eviction may violate disruption budgets.
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


class PlacedMembers(NamedTuple):
    """Placed pods of a gang, counted by what they will do."""

    #: Pods that have a node and keep it.
    staying: int
    #: Pods whose claims wait for victims; these claims may become void.
    nominated: int
    #: Pods that are being evicted, have ended or are pending again. A pod whose eviction is stuck
    #: is one of them, because it may have ended by now.
    leaving: int

    @classmethod
    def of(
        cls, unit: Unit, pods: Pods, serials: npt.NDArray[np.int64] | None = None
    ) -> "PlacedMembers":
        """Count the placed pods of a unit.

        Args:
            unit: the unit.
            pods: rows of the pods.
            serials: int64[row], serials of the pods when the units were last updated; a row with
                another serial belongs to another pod now. ``None`` if no pod has changed since.
        """
        rows = np.fromiter(unit.bound, np.int64, len(unit.bound))
        states = pods.state[rows]
        kept = (states == PodState.ASSUMED) | (states == PodState.BOUND)
        kept &= pods.eviction_state[rows] == EvictionState.NONE
        nominated = states == PodState.NOMINATED
        if serials is not None:
            is_same = serials[rows] == pods.serial[rows]
            kept &= is_same
            nominated &= is_same
        staying, waiting = int(np.count_nonzero(kept)), int(np.count_nonzero(nominated))
        return cls(staying, waiting, len(rows) - staying - waiting)


def short_of(unit: Unit, pods: Pods) -> int:
    """Number of pods that a gang will lack after its leaving members have ended.

    The result is 0 if no member leaves, and at most 0 if enough members remain.
    """
    if not unit.is_gang or not unit.bound:
        return 0
    members = PlacedMembers.of(unit, pods)
    if not members.leaving:
        return 0
    return unit.min_member - members.staying - members.nominated


def unit_name(unit: Unit, pods: Pods) -> str:
    """Name of a unit for users: ``namespace/name`` of its PodGroup, its owner or its only pod."""
    if unit.kind is not UnitKind.POD:
        return unit.key.partition("/")[2]
    return next((pods.key(row) for row in (*unit.pending, *unit.bound)), unit.key)


class Evictions:
    """Pods being evicted."""

    def __init__(self, pods: Pods) -> None:
        """Start empty."""
        #: Evictions in progress, by row.
        self.in_progress: dict[int, PendingEviction] = {}
        #: Number of pods evicted by this scheduler, by cause.
        self.counts: dict[EvictionCause, int] = dict.fromkeys(EvictionCause, 0)
        self._pods = pods
        self._on_slot: dict[int, set[int]] = {}

    def __bool__(self) -> bool:
        """Return whether any eviction is in progress."""
        return bool(self.in_progress)

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
