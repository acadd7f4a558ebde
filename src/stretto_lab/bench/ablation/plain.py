"""The plain counterparts of what makes the engine fast: what one would write first.

Each answers as its fast twin does and remembers nothing. They are for the ablation bench and for
the properties that hold both equal; the product has no switch for them.
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
    """A snapshot copied anew: the twin of a snapshot that follows the change log."""
    columns = Columns(ledger)
    columns.sync()
    return columns


class CopyingRuntime:
    """Lets a runtime copy the whole ledger at every look, as if nobody had kept a log.

    Whoever copies everything does not know what has changed, so kept scores are void too.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Take the place of the runtime's ``sync``."""
        self._runtime = runtime
        self._sync = runtime.sync

    def sync(self) -> None:
        """What ``Runtime.sync`` does, from nothing."""
        self._runtime.scores.columns = Columns(self._runtime.columns.ledger)
        self._sync()


class ScanningRuntime:
    """Lets a runtime score every node for every unit, as if no class had been seen before.

    Kept scores are dropped wherever a class comes again, so whatever the kernel looks at it must
    score; it stays the same compiled kernel, with the cost of a call shared by a dozen pods.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Take the place of the runtime's ``place``."""
        self._runtime = runtime
        self._place = runtime.place

    def place(self, request: PlacementRequest) -> BatchPlacement:
        """What ``Runtime.place`` answers, on scores made anew."""
        count, tried = len(np.asarray(request.class_ids)), 0
        slots = np.full(count, NOT_TRIED, np.int32)
        devices = np.zeros(count, np.int32)
        for first, part in parts_of_new_classes(request):
            self.forget()
            answer = self._place(part)
            slots[first : first + len(answer.slots)] = answer.slots
            devices[first : first + len(answer.slots)] = answer.devices
            tried += answer.tried
            if answer.tried < len(part.at_least):
                break
        return BatchPlacement(slots, devices, tried)

    def forget(self) -> None:
        """Drop every score: those of another workload are void, which is the door for it."""
        self._runtime.engine.workload_version += 1
        self._runtime.sync()


def parts_of_new_classes(request: PlacementRequest) -> Iterator[tuple[int, PlacementRequest]]:
    """A batch cut before each unit of a class that was there since the last cut.

    Yields the index of each part's first pod, and the part.
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
    """Some units of a batch as a batch."""
    first, stop = request.starts[begin], request.starts[end]
    return PlacementRequest(
        class_ids=ids[first:stop],
        starts=[start - first for start in request.starts[begin : end + 1]],
        at_least=request.at_least[begin:end],
        blocking=request.blocking[begin:end],
        pins=request.pins[first:stop],
    )


class PlainNodeList:
    """Nodes in the order in which zones take turns, made anew after every change.

    The twin of ``state.rows.slots``: kube-scheduler's node tree makes such a list for each snapshot
    in which a node has come or gone.
    """

    def __init__(self) -> None:
        """No node yet."""
        #: Node names, zone after zone in turn.
        self.order: list[str] = []
        self._zone_of: dict[str, str] = {}

    def add(self, name: str, zone: str) -> None:
        """A node comes."""
        self._zone_of[name] = zone
        self._make()

    def remove(self, name: str) -> None:
        """A node goes."""
        del self._zone_of[name]
        self._make()

    def fill(self, nodes: Iterable[tuple[str, str]]) -> None:
        """Many nodes (name, zone) come at once."""
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
