"""Plain counterparts of the optimisations: straightforward implementations.

Each returns the same results as its optimised version and caches nothing. The ablation bench and
property tests use them; the product has no option for them.
"""

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.placement import NOT_TRIED, BatchPlacement, PlacementRequest
from stretto.framework.engine.runtime import Runtime
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.snapshot import Columns


def whole_copy(ledger: Ledger) -> Columns:
    """Copy the whole ledger; the counterpart of reading the change log."""
    columns = Columns(ledger)
    columns.sync()
    return columns


class CopyingRuntime:
    """Makes a runtime copy the whole ledger at every sync, as without a change log.

    Such a copy has no list of changes, so it also invalidates cached scores.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Prepare the replacement of the runtime's ``sync``."""
        self._runtime = runtime
        self._sync = runtime.sync

    def sync(self) -> None:
        """Replace ``Runtime.sync`` by a sync from an empty snapshot."""
        empty = Columns(self._runtime.columns.ledger)
        self._runtime.columns = self._runtime.scores.columns = empty
        self._sync()


class ScanningRuntime:
    """Makes a runtime score every node for every unit, as without a class cache.

    Cached scores are dropped whenever a class repeats, so the kernel computes every score that it
    reads. The compiled kernel is the same, and about a dozen pods share the cost of a call.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Prepare the replacement of the runtime's ``place``."""
        self._runtime = runtime
        self._place = runtime.place

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """Replace ``Runtime.place`` by a placement with recomputed scores."""
        count, tried = len(np.asarray(request.class_ids)), 0
        slots = np.full(count, NOT_TRIED, np.int32)
        devices = np.zeros(count, np.int32)
        for first, part in parts_of_new_classes(request):
            self.forget()
            answer = self._place(part)
            slots[first : first + len(answer.slots)] = answer.slots
            devices[first : first + len(answer.slots)] = answer.devices
            tried += answer.tried
            if answer.tried < len(part.at_least) or _blocks(part, answer):
                break
        return BatchPlacement(slots, devices, tried)

    def forget(self) -> None:
        """Invalidate all scores by raising the workload version."""
        self._runtime.engine.workload_version += 1
        self._runtime.sync()


def _blocks(part: PlacementRequest, answer: BatchPlacement) -> bool:
    """True if the last unit of a part is blocking and does not start."""
    placed = int(np.count_nonzero(answer.slots[part.starts[-2] :] >= 0))
    return bool(part.blocking[-1]) and placed < part.at_least[-1]


def parts_of_new_classes(request: PlacementRequest) -> Iterator[tuple[int, PlacementRequest]]:
    """Split a batch before each unit whose class occurred since the last split.

    Yield the index of each part's first pod, and the part.
    """
    ids = np.asarray(request.class_ids, np.int32)
    seen: set[int] = set()
    begin = 0
    for unit in range(len(request.at_least) + 1):
        last = unit == len(request.at_least)
        of_unit = set() if last else set(ids[request.starts[unit] : request.starts[unit + 1]])
        if unit > begin and (last or seen & of_unit):
            yield request.starts[begin], _part(request, ids, begin, unit)
            begin, seen = unit, set()
        seen |= of_unit


def _part(
    request: PlacementRequest, ids: npt.NDArray[np.int32], begin: int, end: int
) -> PlacementRequest:
    """The part of a batch from one unit to another."""
    first, stop = request.starts[begin], request.starts[end]
    return PlacementRequest(
        class_ids=ids[first:stop],
        starts=[start - first for start in request.starts[begin : end + 1]],
        at_least=request.at_least[begin:end],
        blocking=request.blocking[begin:end],
        pins=request.pins[first:stop],
    )


class PlainNodeList:
    """A node list that rotates over zones and is rebuilt after every change.

    It is the counterpart of ``state.rows.slots``: the node tree of kube-scheduler builds such a
    list for each snapshot in which nodes were added or removed.
    """

    def __init__(self) -> None:
        """Start without nodes."""
        #: Node names, rotating over zones.
        self.order: list[str] = []
        self._zone_of: dict[str, str] = {}

    def add(self, name: str, zone: str) -> None:
        """Add a node."""
        self._zone_of[name] = zone
        self._make()

    def remove(self, name: str) -> None:
        """Remove a node."""
        del self._zone_of[name]
        self._make()

    def fill(self, nodes: Iterable[tuple[str, str]]) -> None:
        """Add many nodes (name, zone)."""
        self._zone_of.update(nodes)
        self._make()

    def _make(self) -> None:
        zones: dict[str, deque[str]] = {}
        for name, zone in self._zone_of.items():
            zones.setdefault(zone, deque()).append(name)
        order: list[str] = []
        waiting = list(zones.values())
        while waiting:
            order.extend(names.popleft() for names in waiting)
            waiting = [names for names in waiting if names]
        self.order = order
