"""Units: what is admitted as a whole.

A unit is a PodGroup, the pods of one owner, or one pod. The dispatcher forms and orders units,
a shard places their pods, the binder commits them; all three meet here and only here. A
``Dispatch`` is what a shard gets, a ``Setback`` what comes back when pods could not be placed.

A million single pods may wait, so a unit is a compact struct without garbage-collector header,
empty fields share one object, and the rows of a single pod are one tuple that travels.
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
"""Queue of units that name none."""
NO_GROUP: Final = 1 << 30
"""``min_member`` of a unit whose PodGroup is not known yet: no number of pods is enough."""

_MOVES: Final = tuple(
    tuple(UNIT_LIFE.transitions.get((state, event)) for event in UnitEvent) for state in UnitState
)


class UnitKind(Enum):
    """What made the unit."""

    POD_GROUP = "PodGroup"
    OWNER = "Owner"
    POD = "Pod"


class Cure(IntFlag):
    """Cluster events that may cure a "no": what a waiting unit is woken by."""

    NONE = 0
    #: A node came.
    NODE_ADDED = 1
    #: A node may give more than before.
    NODE_GREW = 2
    #: Labels of a node changed.
    NODE_LABELS = 4
    #: Taints of a node changed, or it was uncordoned.
    NODE_TAINTS = 8
    #: A pod left its node (ended, deleted, evicted, or a claim was given back).
    POD_LEFT = 16
    #: A pod came to a node.
    POD_PLACED = 32
    #: A pod on a node counts otherwise: its labels changed, or its deletion was asked for.
    POD_LABELS = 64
    #: The pod itself changed (gate removed, resized, spec mended).
    POD_CHANGED = 128
    #: A PodGroup came or changed.
    GROUP_CHANGED = 256
    #: A volume, claim, class or driver object came or changed.
    VOLUME_CHANGED = 512
    #: A queue came or changed, or usage of a queue fell.
    QUEUE_CHANGED = 1024
    #: A node went, and with it what its pods and labels counted for elsewhere.
    NODE_LEFT = 2048
    #: A namespace came or its labels changed.
    NAMESPACE_CHANGED = 4096
    ANY = 8191


class UnitOutcome(IntEnum):
    """What a shard's answers so far mean for a unit once the last one is in; later ones win."""

    #: No answer yet, or every pod was placed.
    NONE = 0
    #: Given back untried: queue again.
    GIVEN_BACK = 1
    #: No place for some of its pods: sleep.
    NO_PLACE = 2
    #: A claim was refused: try again at once.
    RETRY = 3
    #: The store refused, or too many retries: wait first.
    BACK_OFF = 4


class Unit(msgspec.Struct, gc=False, eq=False):
    """One unit and the rows of its pods. Mutable, changed by the dispatcher alone."""

    #: ``Kind/namespace/name`` as Gödel writes it, or the pod's uid for a single pod.
    key: str
    #: What made it.
    kind: UnitKind
    #: Pods that must fit together; 1 admits them one by one.
    min_member: int
    #: Queue it waits in.
    queue: str
    #: Order of arrival: never given twice.
    sequence: int
    #: Rows that want a node and have none, those at a shard among them.
    pending: Sequence[int] = ()
    #: Rows claimed or bound.
    bound: Collection[int] = ()
    #: Highest priority of its pods.
    priority: int = 0
    #: Clock time of creation, in seconds.
    created: float = 0.0
    #: Clock time after which a gang that is not scheduled has failed; infinity for none.
    deadline: float = inf
    #: Clock time before which it is not tried again.
    not_before: float = 0.0
    #: Attempts that failed since the last success.
    attempts: int = 0
    #: Shard that has it or had it last; -1 for none.
    shard: int = -1
    #: Where it is.
    state: UnitState = UnitState.FORMING
    #: Place in its queue's order: the smaller goes first; made by the queue's policy.
    rank: int = 0
    #: Rows at the shard that have not been answered yet.
    away: Sequence[int] = ()
    #: What the answers so far mean.
    outcome: UnitOutcome = UnitOutcome.NONE
    #: Class to blame for the last "no"; -1 for none.
    blame: int = -1
    #: ``Cure`` bits of that "no".
    cures: int = 0
    #: Ward of the waiting room in which it sleeps; -1 for none.
    ward: int = -1
    #: Count of cluster events when it was dispatched, to see what it has missed.
    tick: int = 0
    #: The whole of it has been on nodes once: members that come later are admitted one by one.
    scheduled: bool = False
    #: All pods that exist must fit together: ``min_member`` follows the number of pods.
    whole: bool = False
    #: Seconds that it is expected to run once placed; infinity where nobody says.
    duration: float = inf

    @property
    def is_gang(self) -> bool:
        """Whether several pods must fit together."""
        return self.min_member > 1

    @property
    def still_needed(self) -> int:
        """How many more pods must be placed together for the unit to stand."""
        return 0 if self.scheduled else max(0, self.min_member - len(self.bound))

    @property
    def size(self) -> int:
        """How many pods it has that are wanted or placed."""
        return len(self.pending) + len(self.bound)

    @property
    def is_complete(self) -> bool:
        """Whether it has the pods without which it must not start."""
        return self.scheduled or self.size >= self.min_member

    def want(self, rows: Iterable[int]) -> None:
        """Pods that want a node join."""
        if isinstance(self.pending, list):
            self.pending.extend(rows)
        else:
            self.pending = (*self.pending, *rows)

    def lose(self, rows: AbstractSet[int]) -> None:
        """Pods leave, whether they want a node or have one."""
        self._drop_pending(rows)
        if isinstance(self.bound, RowSet):
            self.bound.remove_all(rows)
        elif self.bound:
            self.bound = tuple(row for row in self.bound if row not in rows)

    def hold(self, rows: AbstractSet[int]) -> None:
        """Pods get a node."""
        self._drop_pending(rows)
        if isinstance(self.bound, RowSet):
            self.bound.add_all(rows)
        else:
            self.bound = tuple({*self.bound, *rows})

    def let_go(self, rows: AbstractSet[int]) -> None:
        """Pods that had a node, or nearly, want one again."""
        self.lose(rows)
        self.want(sorted(rows))

    def answered(self, rows: AbstractSet[int]) -> int:
        """Pods are at the shard no longer; returns how many of them were."""
        before = len(self.away)
        if before and rows >= set(self.away):
            self.away = ()
        elif before:
            self.away = tuple(row for row in self.away if row not in rows)
        return before - len(self.away)

    def _drop_pending(self, rows: AbstractSet[int]) -> None:
        if not self.pending:
            return
        kept = [] if rows >= set(self.pending) else [r for r in self.pending if r not in rows]
        self.pending = kept if isinstance(self.pending, list) else tuple(kept)

    def run_for(self, duration: float) -> None:
        """One more pod says how long it runs: the longest that is said counts for its unit."""
        if duration < inf:
            self.duration = max(self.duration, duration) if self.duration < inf else duration

    def step(self, event: UnitEvent) -> None:
        """Move by the table of units."""
        after = _MOVES[self.state][event]
        self.state = after if after is not None else UNIT_LIFE.next(self.state, event)


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    """Work for a shard: these pods of this unit. Every row is answered by claim or setback."""

    #: The unit.
    unit: Unit
    #: Rows to place, in order.
    rows: tuple[int, ...]
    #: How many of them must be placed or none is.
    at_least: int
    #: Nothing of the same queue that comes later may be placed once this one failed.
    blocking: bool = False


class SetbackReason(Enum):
    """Why a shard sends pods back."""

    #: They fit nowhere now: the unit sleeps.
    NO_PLACE = "no place"
    #: They were not tried (an earlier unit of a blocking queue failed, or the shard is full or
    #: stops): queue again at once, no attempt counted.
    GIVEN_BACK = "given back"


class Setback(msgspec.Struct, frozen=True, gc=False):
    """Pods of a unit that a shard could not place, and what could change that."""

    #: The unit.
    unit: Unit
    #: Rows without a place.
    rows: tuple[int, ...]
    #: Class of the first pod that did not fit; -1 when no class is to blame.
    class_id: int
    #: Events that may cure it; ``NONE`` sends it to back-off instead of sleep.
    cures: Cure
    #: Whether they were tried at all.
    why: SetbackReason = SetbackReason.NO_PLACE
    #: What the FailedScheduling event of each row says, in their order; empty where not known.
    messages: tuple[str, ...] = ()


class Units:
    """Every unit that has a pod, found by row and by what made it."""

    def __init__(self) -> None:
        """Start with no unit."""
        #: Units by row; ``None`` where no pod of ours is known.
        self.by_row: list[Unit | None] = []
        #: Units of several pods by identity: ``PodGroupUnit/ns/name``, or the owner's uid.
        self.by_identity: dict[str, Unit] = {}
        #: The identity of each unit of several pods.
        self.identity: dict[Unit, str] = {}
        #: int64[row]: serial of the pod that the row stood for when it came.
        self.serial: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        #: The next order of arrival.
        self.next_sequence: int = 1

    def of_row(self, row: int) -> Unit | None:
        """The unit of a row, or ``None``."""
        return self.by_row[row] if row < len(self.by_row) else None

    def find(self, key: str) -> Unit | None:
        """The unit with a key, or ``None``; single pods are found by their row instead."""
        found = self.by_identity.get(key)
        if found is not None:
            return found
        return next((unit for unit in self.by_identity.values() if unit.key == key), None)

    def add(self, identity: str, unit: Unit) -> None:
        """Keep a unit of several pods."""
        self.by_identity[identity] = unit
        self.identity[unit] = identity

    def drop(self, unit: Unit) -> None:
        """Forget a unit of several pods."""
        identity = self.identity.pop(unit, None)
        if identity is not None:
            del self.by_identity[identity]

    def sequence(self) -> int:
        """A new order of arrival."""
        self.next_sequence += 1
        return self.next_sequence - 1

    def grow(self, length: int) -> None:
        """Have room for so many rows."""
        missing = length - len(self.by_row)
        if missing > 0:
            self.by_row.extend([None] * missing)
        if length > len(self.serial):
            more = max(length, len(self.serial) + (len(self.serial) >> 2)) - len(self.serial)
            self.serial = np.concatenate([self.serial, np.zeros(more, np.int64)])

    def __iter__(self) -> Iterator[Unit]:
        """Every unit once, in the order of their first rows; units without pods are left out."""
        seen: set[Unit] = set()
        for unit in self.by_row:
            if unit is not None and unit not in seen:
                seen.add(unit)
                yield unit
