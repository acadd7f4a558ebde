"""Pods as rows.

A pod is a row of a few numbers and three strings, not an object: a million pods need about 200 MB
and cause no garbage collection. The uid identifies the pod and maps to the row. A row is reused
only after its pod was removed, and its serial distinguishes the pods that have used it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.rows.lifecycle import PodState

NO_SLOT: Final = -1
"""Slot of a pod without a node."""
FIRST_ROWS: Final = 1024
"""Initial number of rows."""
MANY_ROWS: Final = 1 << 17
"""Number of rows from which columns grow by a quarter: each row needs about a hundred bytes."""


ROW_LOG: Final = 1 << 17
"""Maximum length of the row log; a reader that is further behind recounts all rows."""
_ZEROED: Final = (
    "volumes",
    "class_id",
    "generation",
    "devices",
    "priority",
    "version",
    "since",
    "serial",
    "preemption_attributes",
    "eviction_state",
    "tag",
    "running",
)
"""Columns whose new rows start with 0."""


class RowLog:
    """Changed rows, for readers that follow from a position of their own."""

    def __init__(self) -> None:
        """Start empty."""
        #: Position after the last change; positions never repeat.
        self.head = 0
        self._rows: npt.NDArray[np.int64] = np.zeros(ROW_LOG, np.int64)
        self._length = 0

    def add(self, row: int) -> None:
        """Record the change of one row."""
        if self._length == ROW_LOG:
            self._drop()
        self._rows[self._length] = row
        self._length += 1
        self.head += 1

    def extend(self, rows: npt.NDArray[np.int64]) -> None:
        """Record changes of rows."""
        count = len(rows)
        self.head += count
        if self._length + count > ROW_LOG:
            self._drop()
        if self._length + count > ROW_LOG:  # more than the log's maximum: every reader is behind
            self._length = 0
            return
        self._rows[self._length : self._length + count] = rows
        self._length += count

    def since(self, position: int) -> npt.NDArray[np.int64] | None:
        """Rows changed since a position (with repeats), or ``None`` if no longer logged."""
        first = position - (self.head - self._length)
        return self._rows[first : self._length] if first >= 0 else None

    def _drop(self) -> None:
        """Drop the older half."""
        keep = self._length // 2
        self._rows[:keep] = self._rows[self._length - keep : self._length]
        self._length = keep


class NewPod(NamedTuple):
    """Fields of one new row."""

    #: Uid.
    uid: str
    #: Namespace.
    namespace: str
    #: Name.
    name: str
    #: Class id.
    class_id: int
    #: Resolved priority.
    priority: int
    #: resourceVersion at which it was seen.
    version: int
    #: Clock time at which it was first seen, in seconds.
    since: float
    #: Initial state.
    state: PodState = PodState.PENDING
    #: Number of its preemption attributes.
    preemption_attributes: int = 0
    #: Tag of its namespace and labels.
    tag: int = 0


class NewRows(NamedTuple):
    """Fields of many new rows, as columns in the order of ``NewPod``."""

    #: Uids.
    uids: Sequence[str]
    #: Namespaces.
    namespaces: Sequence[str]
    #: Names.
    names: Sequence[str]
    #: Class ids.
    classes: Sequence[int]
    #: Resolved priorities.
    priorities: Sequence[int]
    #: resourceVersions at which they were seen.
    versions: Sequence[int]
    #: Clock time at which they were first seen, in seconds; one for all, or one each.
    since: float | Sequence[float]
    #: Initial state; one for all, or one each.
    states: int | Sequence[int]
    #: Numbers of their preemption attributes.
    preemption_attributes: Sequence[int]
    #: Tags of their namespaces and labels.
    tags: Sequence[int]


class Pods:
    """All pods, as columns over rows."""

    def __init__(self) -> None:
        """Start without pods."""
        #: uint8[row]: ``PodState``.
        self.state: npt.NDArray[np.uint8] = np.full(FIRST_ROWS, PodState.GONE, np.uint8)
        #: int32[row]: class id.
        self.class_id: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int32[row]: slot of the node for which it is claimed or to which it is bound; -1 for
        #: none.
        self.slot: npt.NDArray[np.int32] = np.full(FIRST_ROWS, NO_SLOT, np.int32)
        #: int64[row]: generation of that slot at the time of the claim.
        self.generation: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: int32[row]: bit mask of its devices.
        self.devices: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int32[row]: resolved priority.
        self.priority: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int64[row]: last seen resourceVersion.
        self.version: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: float64[row]: clock time at which the pod was first seen, in seconds.
        self.since: npt.NDArray[np.float64] = np.zeros(FIRST_ROWS, np.float64)
        #: int64[row]: serial of the pod that uses the row now; never reused.
        self.serial: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: int32[row]: number of its ``PreemptionAttributes``; 0 for the default.
        self.preemption_attributes: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int32[row]: tag of its namespace and labels (``state.affinity.tags``).
        self.tag: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: uint8[row]: 1 if the pod has PVCs or disks, so that its record is kept.
        self.volumes: npt.NDArray[np.uint8] = np.zeros(FIRST_ROWS, np.uint8)
        #: uint8[row]: ``evictions.EvictionState`` of the pod.
        self.eviction_state: npt.NDArray[np.uint8] = np.zeros(FIRST_ROWS, np.uint8)
        #: float64[row]: clock time at which its node started it or it was seen bound; infinity
        #: before.
        self.started: npt.NDArray[np.float64] = np.full(FIRST_ROWS, np.inf)
        #: uint8[row]: 1 once its node reports that it runs.
        self.running: npt.NDArray[np.uint8] = np.zeros(FIRST_ROWS, np.uint8)
        #: Lowest priority of any pod so far.
        self.lowest: int = 1 << 31
        #: Rows whose slot, class, preemption attributes or eviction state changed.
        self.log = RowLog()
        #: Uids by row.
        self.uid: list[str] = [""] * FIRST_ROWS
        #: Namespaces by row.
        self.namespace: list[str] = [""] * FIRST_ROWS
        #: Names by row.
        self.name: list[str] = [""] * FIRST_ROWS
        self._rows: dict[str, int] = {}
        #: Returns the row of a pod by uid, or ``None``.
        self.row = self._rows.get
        self._free: list[int] = []
        #: Number of rows ever used: the upper bound of column scans.
        self.length = 0
        self._next_serial = 1

    def __len__(self) -> int:
        """Number of pods."""
        return len(self._rows)

    def rows(self) -> npt.NDArray[np.int64]:
        """Every row in use, ascending."""
        return np.flatnonzero(self.state[: self.length] != PodState.GONE)

    def rows_of(self, uids: Iterable[str]) -> list[int | None]:
        """The row of each pod, ``None`` for unknown uids."""
        return list(map(self._rows.get, uids))

    def are_new(self, uids: Sequence[str]) -> bool:
        """Return whether the uids are distinct and none is known."""
        return self._rows.keys().isdisjoint(uids) and len(set(uids)) == len(uids)

    def add(self, pods: Sequence[NewPod]) -> npt.NDArray[np.int64]:
        """Add new pods (unknown uids); returns their rows in order."""
        columns = [list(column) for column in zip(*pods, strict=True)]
        return self.add_rows(NewRows(*columns))

    def add_rows(self, new: NewRows) -> npt.NDArray[np.int64]:
        """Add new pods (unknown uids) from columns; returns their rows in order."""
        count = len(new.uids)
        fresh = max(0, count - len(self._free))
        reused = self._free[: -1 - count + fresh : -1]  # the last freed row first
        del self._free[len(self._free) - len(reused) :]
        self._grow(self.length + fresh)
        rows = reused + list(range(self.length, self.length + fresh))
        self.length += fresh
        index = np.array(rows, np.int64)
        self.class_id[index] = new.classes
        self.priority[index] = new.priorities
        self.lowest = min((self.lowest, *new.priorities))
        self.version[index] = new.versions
        self.since[index] = new.since
        self.state[index] = new.states
        self.slot[index] = NO_SLOT
        self.devices[index] = 0
        self.preemption_attributes[index] = new.preemption_attributes
        self.tag[index] = new.tags
        self.eviction_state[index] = 0
        self.volumes[index] = 0
        self.started[index] = np.inf
        self.running[index] = 0
        self.serial[index] = np.arange(self._next_serial, self._next_serial + count)
        self._next_serial += count
        own_uid, own_space, own_name = self.uid, self.namespace, self.name
        if not reused:
            own_uid[rows[0] : rows[0] + count] = new.uids
            own_space[rows[0] : rows[0] + count] = new.namespaces
            own_name[rows[0] : rows[0] + count] = new.names
        else:
            texts = zip(rows, new.uids, new.namespaces, new.names, strict=True)
            for row, uid, space, name in texts:
                own_uid[row] = uid
                own_space[row] = space
                own_name[row] = name
        self._rows.update(zip(new.uids, rows, strict=True))
        return index

    def remove(self, row: int) -> None:
        """Remove a pod; its row may be reused, its serial never."""
        del self._rows[self.uid[row]]
        self.state[row] = PodState.GONE
        self.slot[row] = NO_SLOT
        self.serial[row] = 0
        self.uid[row] = self.namespace[row] = self.name[row] = ""
        self._free.append(row)
        self.log.add(row)

    def key(self, row: int) -> str:
        """``namespace/name`` of a pod."""
        return f"{self.namespace[row]}/{self.name[row]}"

    def on_slot(self, slot: int) -> npt.NDArray[np.int64]:
        """Rows of the pods claimed for or bound to a slot."""
        return np.flatnonzero(self.slot[: self.length] == slot)

    def _grow(self, length: int) -> None:
        size = len(self.state)
        if length <= size:
            return
        more = max(size if size < MANY_ROWS else size >> 2, length - size)
        self.state = np.concatenate([self.state, np.full(more, PodState.GONE, np.uint8)])
        self.slot = np.concatenate([self.slot, np.full(more, NO_SLOT, np.int32)])
        self.started = np.concatenate([self.started, np.full(more, np.inf)])
        for name in _ZEROED:
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(more, column.dtype)]))
        for texts in (self.uid, self.namespace, self.name):
            texts.extend([""] * more)
