"""Units: the pods that are admitted as a whole.

A unit is a PodGroup, the pods of one owner, or one pod. The dispatcher forms and orders units, a
shard places their pods, and the binder commits them. The messages of this module are their only
interface. A ``Dispatch`` is a shard's input, a ``Setback`` its report of pods that could not be
placed.

A million single pods may be pending, so a unit is a compact struct without garbage-collector
header, empty fields share one object, and the rows of a single pod are one shared tuple.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum, IntEnum, IntFlag
from math import inf
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.state.rows.lifecycle import UNIT_LIFE, UnitEvent, UnitState
from stretto.state.rows.row_sets import RowSet

DEFAULT_QUEUE: Final = "default"
"""Queue of units that name no queue."""
NO_GROUP: Final = 1 << 30
"""``min_member`` of a unit with an unknown PodGroup: no number of pods is enough."""

BY_EVICTION: Final = 1 << 40
"""Added to the number of pods of a class that fit now, if evictions may place more of them."""

_MOVES: Final = tuple(
    tuple(UNIT_LIFE.transitions.get((state, event)) for event in UnitEvent) for state in UnitState
)


class UnitKind(Enum):
    """Origin of a unit."""

    POD_GROUP = "PodGroup"
    OWNER = "Owner"
    POD = "Pod"


class Cure(IntFlag):
    """Cluster events that may cure a scheduling failure; they wake waiting units."""

    NONE = 0
    #: A node was added.
    NODE_ADDED = 1
    #: A node's allocatable amounts increased.
    NODE_GREW = 2
    #: Labels of a node changed.
    NODE_LABELS = 4
    #: Taints of a node changed, or it was uncordoned.
    NODE_TAINTS = 8
    #: A pod left its node (ended, deleted, evicted, or its claim was dropped).
    POD_LEFT = 16
    #: A pod was placed on a node.
    POD_PLACED = 32
    #: Labels of a pod on a node changed, or it is terminating, so that other rules count it.
    POD_LABELS = 64
    #: The pod itself changed (gate removed, resized, spec fixed).
    POD_CHANGED = 128
    #: A PodGroup was added or changed.
    GROUP_CHANGED = 256
    #: A PV, PVC, StorageClass or CSI object was added or changed.
    VOLUME_CHANGED = 512
    #: A queue was added or changed, or usage of a queue fell.
    QUEUE_CHANGED = 1024
    #: A node was removed, and with it pods and labels that counted for other nodes.
    NODE_LEFT = 2048
    #: A namespace was added or its labels changed.
    NAMESPACE_CHANGED = 4096
    #: A pod that could not be evicted yet may be evictable now: its bind was confirmed, its
    #: eviction was refused, or its protection ended.
    POD_EVICTABLE = 8192
    ANY = 16383


class UnitOutcome(IntEnum):
    """Combined outcome of a shard's answers for a unit; higher values take precedence."""

    #: No answer yet, or every pod was placed.
    NONE = 0
    #: Returned without an attempt: requeue.
    GIVEN_BACK = 1
    #: Some pods fit on no node: wait for a cure.
    NO_PLACE = 2
    #: A claim was refused: retry immediately.
    RETRY = 3
    #: The store refused, or there were too many retries: back off.
    BACK_OFF = 4


class Unit(msgspec.Struct, gc=False, eq=False):
    """One unit and the rows of its pods. Mutable; only the dispatcher changes it."""

    #: ``Kind/namespace/name`` in Gödel's form, or the uid of a single pod.
    key: str
    #: Origin of the unit.
    kind: UnitKind
    #: Number of pods that must fit together; 1 admits them one by one.
    min_member: int
    #: Queue of the unit.
    queue: str
    #: Order of arrival: never reused.
    sequence: int
    #: Rows that need a node, including rows at a shard.
    pending: Sequence[int] = ()
    #: Claimed or bound rows.
    bound: Collection[int] = ()
    #: Highest priority of its pods.
    priority: int = 0
    #: Clock time of creation, in seconds.
    created: float = 0.0
    #: Clock time at which a gang that is not scheduled fails, in seconds; infinity for none.
    deadline: float = inf
    #: Clock time of the earliest next attempt, in seconds.
    not_before: float = 0.0
    #: Number of failed attempts since the last success.
    attempts: int = 0
    #: Shard of the current or last attempt; -1 for none.
    shard: int = -1
    #: State.
    state: UnitState = UnitState.FORMING
    #: Sort key in its queue, set by the queue's policy: smaller goes first.
    rank: int = 0
    #: Rows at the shard without an answer.
    away: Sequence[int] = ()
    #: Combined outcome of the answers so far.
    outcome: UnitOutcome = UnitOutcome.NONE
    #: Class that caused the last failure; -1 for none.
    blocking_class: int = -1
    #: ``Cure`` bits of that failure.
    cures: int = 0
    #: Wait group of unschedulable units that contains it; -1 for none.
    wait_group: int = -1
    #: Number of cluster events when it was dispatched, to detect missed events.
    tick: int = 0
    #: True if the unit was completely placed once: later members are admitted one by one.
    scheduled: bool = False
    #: True if all existing pods must fit together: ``min_member`` follows the number of pods.
    whole: bool = False
    #: Expected run time in seconds; infinity if unknown.
    duration: float = inf
    #: True if the deadline is the default one, which does not apply while the complete gang waits
    #: for capacity.
    has_default_deadline: bool = False

    @property
    def waits_for_capacity(self) -> bool:
        """True if it may wait without a time-out: it is complete, and no pod of it has a node."""
        return (
            self.has_default_deadline
            and self.is_complete
            and not self.bound
            and self.deadline > -inf
        )

    @property
    def is_gang(self) -> bool:
        """True if several pods must fit together."""
        return self.min_member > 1

    @property
    def still_needed(self) -> int:
        """Number of pods that must still be placed together for the unit to start."""
        return 0 if self.scheduled else max(0, self.min_member - len(self.bound))

    @property
    def size(self) -> int:
        """Number of its pods, pending or placed."""
        return len(self.pending) + len(self.bound)

    @property
    def is_complete(self) -> bool:
        """True if it has the minimum number of pods."""
        return self.scheduled or self.size >= self.min_member

    def add_pending(self, rows: Iterable[int]) -> None:
        """Add pending pods."""
        if isinstance(self.pending, list):
            self.pending.extend(rows)
        else:
            self.pending = (*self.pending, *rows)

    def remove(self, rows: AbstractSet[int]) -> None:
        """Remove pods, pending or placed."""
        self._drop_pending(rows)
        if isinstance(self.bound, RowSet):
            self.bound.remove_all(rows)
        elif self.bound:
            self.bound = tuple(row for row in self.bound if row not in rows)

    def mark_placed(self, rows: AbstractSet[int]) -> None:
        """Mark pods as placed."""
        self._drop_pending(rows)
        if isinstance(self.bound, RowSet):
            self.bound.add_all(rows)
        else:
            self.bound = tuple({*self.bound, *rows})

    def mark_pending(self, rows: AbstractSet[int]) -> None:
        """Mark placed or assumed pods as pending again."""
        self.remove(rows)
        self.add_pending(sorted(rows))

    def answered(self, rows: AbstractSet[int]) -> int:
        """Remove rows from those at the shard; returns the number of them that were there."""
        before = len(self.away)
        if before and rows >= set(self.away):
            self.away = ()
        elif before:
            self.away = tuple(row for row in self.away if row not in rows)
        return before - len(self.away)

    def _drop_pending(self, rows: AbstractSet[int]) -> None:
        if not self.pending:
            return
        remaining = [] if rows >= set(self.pending) else [r for r in self.pending if r not in rows]
        self.pending = remaining if isinstance(self.pending, list) else tuple(remaining)

    def run_for(self, duration: float) -> None:
        """Record the expected run time of one pod in seconds.

        The unit's run time is the longest.
        """
        if duration < inf:
            self.duration = max(self.duration, duration) if self.duration < inf else duration

    def count_failure(self, not_before: float) -> None:
        """Count a failed attempt; the next one is not before this clock time."""
        self.attempts += 1
        self.not_before = not_before

    def start_by(self, deadline: float, *, has_default_deadline: bool) -> None:
        """Set the deadline of a gang, and record whether it is the default one."""
        self.deadline, self.has_default_deadline = deadline, has_default_deadline

    def step(self, event: UnitEvent) -> None:
        """Apply an event to the state."""
        after = _MOVES[self.state][event]
        self.state = after if after is not None else UNIT_LIFE.next(self.state, event)


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    """Work for a shard: pods of a unit. The shard answers every row by claim or setback."""

    #: The unit.
    unit: Unit
    #: Rows to place, in order.
    rows: tuple[int, ...]
    #: Minimum number to place; if fewer fit, none is placed.
    at_least: int
    #: True if a failure blocks later units of the same queue.
    blocking: bool = False
    #: Slot of each row, if a reservation of another unit determines it; empty for any.
    slots: tuple[int, ...] = ()


class SetbackReason(Enum):
    """Reason why a shard returns pods."""

    #: They fit on no node now: the unit waits for a cure.
    NO_PLACE = "no place"
    #: They were not tried (an earlier unit of a blocking queue failed, or the shard is full or
    #: stops): requeue immediately, without counting an attempt.
    GIVEN_BACK = "given back"


class Setback(msgspec.Struct, frozen=True, gc=False):
    """Pods of a unit that a shard could not place, and the events that could cure it."""

    #: The unit.
    unit: Unit
    #: Rows that could not be placed.
    rows: tuple[int, ...]
    #: Class of the first pod that did not fit; -1 if no class caused it.
    class_id: int
    #: Events that may cure it; ``NONE`` means back-off instead of waiting for a cure.
    cures: Cure
    #: True if the pods were tried.
    why: SetbackReason = SetbackReason.NO_PLACE
    #: Message of the FailedScheduling event of each row, in order; empty if unknown.
    messages: tuple[str, ...] = ()


class Units:
    """All units that have pods, by row and by identity."""

    def __init__(self) -> None:
        """Start without units."""
        #: Units by row; ``None`` if the row has no pod of this scheduler.
        self.by_row: list[Unit | None] = []
        #: Multi-pod units by identity: ``PodGroupUnit/ns/name``, or the owner's uid.
        self.by_identity: dict[str, Unit] = {}
        #: The identity of each multi-pod unit.
        self.identity: dict[Unit, str] = {}
        #: int64[row]: serial of the pod that had the row at its arrival.
        self.serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: The next order of arrival.
        self.next_sequence: int = 1

    def of_row(self, row: int) -> Unit | None:
        """The unit of a row, or ``None``."""
        return self.by_row[row] if row < len(self.by_row) else None

    def find(self, key: str) -> Unit | None:
        """Return the unit with a key, or ``None``; single pods are found by row instead."""
        found = self.by_identity.get(key)
        if found is not None:
            return found
        return next((unit for unit in self.by_identity.values() if unit.key == key), None)

    def add(self, identity: str, unit: Unit) -> None:
        """Add a multi-pod unit."""
        self.by_identity[identity] = unit
        self.identity[unit] = identity

    def drop(self, unit: Unit) -> None:
        """Remove a multi-pod unit."""
        identity = self.identity.pop(unit, None)
        if identity is not None:
            del self.by_identity[identity]

    def sequence(self) -> int:
        """The next order of arrival."""
        self.next_sequence += 1
        return self.next_sequence - 1

    def grow(self, length: int) -> None:
        """Grow to at least ``length`` rows."""
        missing = length - len(self.by_row)
        if missing > 0:
            self.by_row.extend([None] * missing)
        if length > len(self.serial):
            more = max(length, len(self.serial) + (len(self.serial) >> 2)) - len(self.serial)
            self.serial = np.concatenate([self.serial, np.zeros(more, np.int64)])

    def __iter__(self) -> Iterator[Unit]:
        """All units that have pods, in the order of their first rows."""
        seen: set[Unit] = set()
        for unit in self.by_row:
            if unit is not None and unit not in seen:
                seen.add(unit)
                yield unit
