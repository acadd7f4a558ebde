"""Effects of a batch of watch events, as input of the dispatcher.

The cluster state applies events to columns and records their effects on scheduling here: rows
added, removed or seen on a node, PodGroups, and the events that may cure a failure. One object is
filled by a batch, absorbed, cleared and reused.
"""

from collections.abc import Iterable
from typing import NamedTuple

from stretto.api.types.godel import PodGroup, Queue
from stretto.api.types.heads import MetaHead
from stretto.state.work.units import Cure


class PodArrival(NamedTuple):
    """A pod of this scheduler that needs a node."""

    #: Row of the pod; the row's state is ``GATED`` or ``PENDING``.
    row: int
    #: Identity, labels, annotations and owners, from which its unit is formed.
    meta: MetaHead
    #: True if the pod has a scheduling gate.
    gated: bool
    #: Uid of the pod; the metadata may be older than the store's and have none.
    uid: str
    #: Template number: pods of a template agree in labels, annotations, owners and namespace; -1 if
    #: unknown.
    template: int = -1


class PodDeparture(NamedTuple):
    """A pod in any state that ended or was deleted; its row may be in use again."""

    #: Row of the pod before it ended.
    row: int
    #: Serial of the pod in that row.
    serial: int
    #: Uid of the object.
    uid: str
    #: True if this scheduler evicted it.
    evicted: bool = False


class GroupChange(NamedTuple):
    """A PodGroup that was added, changed or deleted."""

    #: ``namespace/name``.
    key: str
    #: The current group; ``None`` if it is deleted or was never readable.
    group: PodGroup | None
    #: Error of a group that was never readable; empty otherwise.
    fault: str = ""


class QueueChange(NamedTuple):
    """A Queue that was added, changed or deleted."""

    #: Name of the object.
    name: str
    #: The current queue; ``None`` if it is deleted.
    queue: Queue | None


class ClusterChanges:
    """Effects of one batch of events; absorbed in the order of the fields."""

    __slots__ = (
        "arrivals",
        "bound",
        "cures",
        "departures",
        "groups",
        "queues",
        "regrouped",
        "released",
        "resized",
    )

    def __init__(self) -> None:
        """Start without changes."""
        #: Ended pods; first, because an arrival of the batch may reuse such a row.
        self.departures: list[PodDeparture] = []
        #: Queues added, changed or deleted, in order; before their contents.
        self.queues: list[QueueChange] = []
        #: PodGroups added, changed or deleted, in order.
        self.groups: list[GroupChange] = []
        #: Pods that need a node, in order of arrival.
        self.arrivals: list[PodArrival] = []
        #: Pending pods with changed gates, labels, annotations, owners or priority.
        self.regrouped: list[PodArrival] = []
        #: Rows seen bound, by this scheduler or another one.
        self.bound: list[int] = []
        #: Rows that were assumed or bound and need a node again.
        self.released: list[int] = []
        #: Rows on nodes whose requests changed.
        self.resized: list[int] = []
        #: Cures of all events of the batch, OR-ed.
        self.cures: Cure = Cure.NONE

    def __bool__(self) -> bool:
        """Return whether anything changed."""
        return bool(
            self.arrivals
            or self.departures
            or self.bound
            or self.released
            or self.resized
            or self.regrouped
            or self.groups
            or self.queues
            or self.cures
        )

    def add_cures(self, cures: Cure) -> None:
        """Add events that may cure a scheduling failure."""
        self.cures |= cures

    def add_bound(self, rows: Iterable[int]) -> None:
        """Add pods seen bound, which preemption may evict from now on."""
        self.bound.extend(rows)
        self.cures |= Cure.POD_EVICTABLE

    def clear(self) -> None:
        """Reset for reuse."""
        self.departures.clear()
        self.groups.clear()
        self.queues.clear()
        self.arrivals.clear()
        self.regrouped.clear()
        self.bound.clear()
        self.released.clear()
        self.resized.clear()
        self.cures = Cure.NONE
