"""Changes: what a batch of watch events meant, in the words of the dispatcher.

The cluster model applies events to columns and notes here what they mean for those who order and
place pods: rows that came, went or were seen on a node, PodGroups, and the events that may cure a
"no". One object is filled by a batch, absorbed, cleared and used again.
"""

from typing import NamedTuple

from stretto.api.types.godel import PodGroup, Queue
from stretto.api.types.heads import MetaHead
from stretto.state.work.units import Cure


class PodArrival(NamedTuple):
    """A pod of ours that wants a node."""

    #: Its row; the row's state is ``GATED`` or ``PENDING``.
    row: int
    #: Identity, labels, annotations and owners, from which its unit is made.
    meta: MetaHead
    #: A scheduling gate holds it.
    gated: bool
    #: Its identity; the metadata may be older than the store's and name none.
    uid: str
    #: Number of the template whose pods agree in labels, annotations, owners and namespace; -1
    #: where nobody has compared.
    template: int = -1


class PodDeparture(NamedTuple):
    """A pod, in whatever state, that ended or was deleted; its row may be in use again."""

    #: The row it had.
    row: int
    #: The serial it had there.
    serial: int
    #: Its identity.
    uid: str
    #: Whether it left because we asked it to.
    evicted: bool = False


class GroupChange(NamedTuple):
    """A PodGroup that came, changed or went."""

    #: ``namespace/name``.
    key: str
    #: The group as it is now; ``None`` once it is deleted, and where it could never be read.
    group: PodGroup | None
    #: What is wrong with a group that could never be read; empty otherwise.
    fault: str = ""


class QueueChange(NamedTuple):
    """A Queue that came, changed or went."""

    #: Its name.
    name: str
    #: The queue as it is now; ``None`` once it is deleted.
    queue: Queue | None


class ClusterChanges:
    """What one batch of events meant; absorbed in the order of the fields."""

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
        """Start with no change."""
        #: Pods that ended; first, because an arrival of the batch may use such a row again.
        self.departures: list[PodDeparture] = []
        #: Queues that came, changed or went, in order; before all that lies in them.
        self.queues: list[QueueChange] = []
        #: PodGroups that came, changed or went, in order.
        self.groups: list[GroupChange] = []
        #: Pods that want a node, in order of arrival.
        self.arrivals: list[PodArrival] = []
        #: Waiting pods seen again with other gates, labels, annotations, owners or priority.
        self.regrouped: list[PodArrival] = []
        #: Rows seen bound, by us or by somebody else.
        self.bound: list[int] = []
        #: Rows that were assumed or bound and want a node again.
        self.released: list[int] = []
        #: Rows on nodes that ask for something else now.
        self.resized: list[int] = []
        #: Every event of the batch that may cure a "no", OR-ed.
        self.cures: Cure = Cure.NONE

    def __bool__(self) -> bool:
        """Whether anything changed."""
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

    def clear(self) -> None:
        """Forget everything, to be filled again."""
        self.departures.clear()
        self.groups.clear()
        self.queues.clear()
        self.arrivals.clear()
        self.regrouped.clear()
        self.bound.clear()
        self.released.clear()
        self.resized.clear()
        self.cures = Cure.NONE
