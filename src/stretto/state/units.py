"""Units: what is admitted as a whole.

A unit is a PodGroup, the pods of one owner, or one pod. The dispatcher forms and orders units,
a shard places their pods, the binder commits them; all three meet here and only here. A
``Dispatch`` is what a shard gets, a ``Setback`` what comes back when pods could not be placed.
"""

from enum import Enum, IntFlag
from typing import Final

import msgspec

from stretto.state.lifecycle import UNIT_LIFE, UnitEvent, UnitState

DEFAULT_QUEUE: Final = "default"
"""Queue of units that name none."""


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
    #: Labels of a pod changed.
    POD_LABELS = 64
    #: The pod itself changed (gate removed, resized, spec mended).
    POD_CHANGED = 128
    #: A PodGroup came or changed.
    GROUP_CHANGED = 256
    #: A volume, claim, class or driver object came or changed.
    VOLUME_CHANGED = 512
    #: A queue came or changed, or usage of a queue fell.
    QUEUE_CHANGED = 1024
    ANY = 2047


class Unit:
    """One unit and the rows of its pods. Mutable, owned by the dispatcher."""

    __slots__ = (
        "attempts",
        "bound",
        "created",
        "deadline",
        "key",
        "kind",
        "min_member",
        "not_before",
        "pending",
        "priority",
        "queue",
        "sequence",
        "shard",
        "state",
    )

    def __init__(self, key: str, kind: UnitKind, min_member: int, queue: str, sequence: int) -> None:
        """Start forming, with no pod."""
        #: ``Kind/namespace/name`` as Gödel writes it, or the pod's uid for a single pod.
        self.key: str = key
        #: What made it.
        self.kind: UnitKind = kind
        #: Pods that must fit together; 1 admits them one by one.
        self.min_member: int = min_member
        #: Queue it waits in.
        self.queue: str = queue
        #: Order of arrival: never given twice.
        self.sequence: int = sequence
        #: Rows that want a node and have none.
        self.pending: list[int] = []
        #: Rows claimed or bound.
        self.bound: set[int] = set()
        #: Highest priority of its pods.
        self.priority: int = 0
        #: Clock time of creation, in seconds.
        self.created: float = 0.0
        #: Clock time after which a gang that is not scheduled has failed; infinity for none.
        self.deadline: float = float("inf")
        #: Clock time before which it is not tried again.
        self.not_before: float = 0.0
        #: Attempts that failed since the last success.
        self.attempts: int = 0
        #: Shard that has it or had it last; -1 for none.
        self.shard: int = -1
        #: Where it is.
        self.state: UnitState = UnitState.FORMING

    @property
    def is_gang(self) -> bool:
        """Whether several pods must fit together."""
        return self.min_member > 1

    @property
    def still_needed(self) -> int:
        """How many more pods must be placed together for the unit to stand."""
        return max(0, self.min_member - len(self.bound))

    def step(self, event: UnitEvent) -> None:
        """Move by the table of units."""
        self.state = UNIT_LIFE.next(self.state, event)


class Dispatch(msgspec.Struct, frozen=True, gc=False):
    """Work for a shard: these pods of this unit."""

    #: The unit.
    unit: Unit
    #: Rows to place, in order.
    rows: tuple[int, ...]
    #: How many of them must be placed or none is.
    at_least: int


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
