"""Pods as rows.

A pod is a row of a few numbers and three strings, not an object: a million of them cost some
200 MB and no garbage collection. The row is found by uid, which is the pod's identity; a row is
used again only after its pod has gone, and its serial tells the users apart.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.lifecycle import PodState

NO_SLOT: Final = -1
"""Slot of a pod that is on no node."""
FIRST_ROWS: Final = 1024
"""Rows to begin with; columns double when they are full."""


class NewPod(NamedTuple):
    """What a row is made from."""

    #: Identity for life.
    uid: str
    #: Namespace.
    namespace: str
    #: Name.
    name: str
    #: Class id.
    class_id: int
    #: Resolved priority.
    priority: int
    #: Store version at which it was seen.
    version: int
    #: Clock time at which it was first seen, in seconds.
    since: float
    #: First state.
    state: PodState = PodState.PENDING


class Pods:
    """All pods, as columns over rows."""

    def __init__(self) -> None:
        """Start with no pod."""
        #: uint8[row]: ``PodState``.
        self.state: npt.NDArray[np.uint8] = np.full(FIRST_ROWS, PodState.GONE, np.uint8)
        #: int32[row]: class id.
        self.class_id: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int32[row]: slot of the node it is claimed for or bound to; -1 for none.
        self.slot: npt.NDArray[np.int32] = np.full(FIRST_ROWS, NO_SLOT, np.int32)
        #: int64[row]: generation of that slot when the claim was made.
        self.generation: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: int32[row]: bit mask of the devices it has.
        self.devices: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int32[row]: resolved priority.
        self.priority: npt.NDArray[np.int32] = np.zeros(FIRST_ROWS, np.int32)
        #: int64[row]: store version last seen.
        self.version: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: float64[row]: clock time at which the pod was first seen, in seconds.
        self.since: npt.NDArray[np.float64] = np.zeros(FIRST_ROWS, np.float64)
        #: int64[row]: number of the pod that uses the row now; never given twice.
        self.serial: npt.NDArray[np.int64] = np.zeros(FIRST_ROWS, np.int64)
        #: Uids by row.
        self.uid: list[str] = [""] * FIRST_ROWS
        #: Namespaces by row.
        self.namespace: list[str] = [""] * FIRST_ROWS
        #: Names by row.
        self.name: list[str] = [""] * FIRST_ROWS
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._length = 0
        self._next_serial = 1

    def __len__(self) -> int:
        """How many pods there are."""
        return len(self._rows)

    @property
    def length(self) -> int:
        """Rows ever used: scans of a column need look no further."""
        return self._length

    def row(self, uid: str) -> int | None:
        """The row of a pod, or ``None``."""
        return self._rows.get(uid)

    def rows(self) -> npt.NDArray[np.int64]:
        """Every row in use, ascending."""
        return np.flatnonzero(self.state[: self._length] != PodState.GONE)

    def add(self, pods: Sequence[NewPod]) -> npt.NDArray[np.int64]:
        """Give rows to new pods (uids not seen before); returns them in order."""
        count = len(pods)
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = count - len(reused)
        self._grow(self._length + fresh)
        rows = reused + list(range(self._length, self._length + fresh))
        self._length += fresh
        uids, spaces, names, classes, priorities, versions, since, states = zip(*pods, strict=True)
        index = np.array(rows, np.int64)
        self.class_id[index] = classes
        self.priority[index] = priorities
        self.version[index] = versions
        self.since[index] = since
        self.state[index] = states
        self.slot[index] = NO_SLOT
        self.devices[index] = 0
        self.serial[index] = np.arange(self._next_serial, self._next_serial + count)
        self._next_serial += count
        own_uid, own_space, own_name = self.uid, self.namespace, self.name
        for row, uid, space, name in zip(rows, uids, spaces, names, strict=True):
            own_uid[row] = uid
            own_space[row] = space
            own_name[row] = name
        self._rows.update(zip(uids, rows, strict=True))
        return index

    def remove(self, row: int) -> None:
        """Forget a pod; its row may be used again, its serial never."""
        del self._rows[self.uid[row]]
        self.state[row] = PodState.GONE
        self.slot[row] = NO_SLOT
        self.serial[row] = 0
        self.uid[row] = self.namespace[row] = self.name[row] = ""
        self._free.append(row)

    def key(self, row: int) -> str:
        """``namespace/name`` of a pod."""
        return f"{self.namespace[row]}/{self.name[row]}"

    def on_slot(self, slot: int) -> npt.NDArray[np.int64]:
        """Rows of the pods claimed for or bound to a slot."""
        return np.flatnonzero(self.slot[: self._length] == slot)

    def _grow(self, length: int) -> None:
        size = len(self.state)
        if length <= size:
            return
        more = max(size, length - size)
        self.state = np.concatenate([self.state, np.full(more, PodState.GONE, np.uint8)])
        self.slot = np.concatenate([self.slot, np.full(more, NO_SLOT, np.int32)])
        for name in ("class_id", "generation", "devices", "priority", "version", "since", "serial"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(more, column.dtype)]))
        for texts in (self.uid, self.namespace, self.name):
            texts.extend([""] * more)
