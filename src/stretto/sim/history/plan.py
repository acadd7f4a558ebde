"""What would happen if some objects were submitted now: tried on a copy, by the real plane.

    said = plan(state_of("sqlite:run.db"), objects)

The copy first settles as it is, so that what waits already has had its turn; then the objects come,
and the plane decides as it would in earnest. What is told is the difference. Nothing outside the
copy is touched.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.api.codec import decode_as
from stretto.api.types.core import Node
from stretto.api.wire.kinds import NODE, POD
from stretto.explain.words.reasons import Reason, ReasonCode
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.plane.plane import Plane
from stretto.sim.pending import ASKED, PendingExplainer, kinds_of
from stretto.state.rows.devices import mask_to_text
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.rows.resources import PODS
from stretto.stores.store import Record, WriteOutcome

SCHEMA: Final = "stretto.plan/v1"
"""Version of the form below as JSON."""
_HELD: Final = frozenset({ReasonCode.GATED, ReasonCode.OTHER_SCHEDULER, ReasonCode.ENDED})
"""Reasons that say nothing of whether a pod would fit."""


class PlannedPlacement(msgspec.Struct, frozen=True):
    """A pod that would get a node."""

    #: ``namespace/name``.
    pod: str
    #: The node.
    node: str
    #: The devices that it would get there, such as ``0,3``; empty for none.
    devices: str = ""


class UnplacedPods(msgspec.Struct, frozen=True):
    """Pods of one kind that would stay without a node."""

    #: ``namespace/name`` of each.
    pods: tuple[str, ...]
    #: Why: the dominant reason; ``None`` where there are so many kinds that nobody asked.
    reason: Reason | None
    #: kube-scheduler's sentence about all nodes; empty where the pods were not asked.
    message: str = ""


class PlannedVictim(msgspec.Struct, frozen=True):
    """A pod that would lose its node."""

    #: ``namespace/name``.
    pod: str
    #: The node that it is on.
    node: str
    #: Where it would go instead; empty where it would be gone or wait.
    instead: str = ""


class PlannedUse(msgspec.Struct, frozen=True):
    """How much of a resource is allocated, before and after."""

    #: Its name.
    resource: str
    #: In percent of what all nodes offer, before.
    before_pct: float
    #: And after.
    after_pct: float


class PlanReport(msgspec.Struct, frozen=True):
    """What would happen."""

    #: The state it was tried on.
    state: str
    #: Objects by kind that would be submitted.
    objects: dict[str, int]
    #: Pods among them, or made by controllers among them.
    pods: int
    #: Pods that would get a node.
    placed: tuple[PlannedPlacement, ...]
    #: Pods that would stay without one, by why.
    pending: tuple[UnplacedPods, ...]
    #: Pods that would lose their node.
    victims: tuple[PlannedVictim, ...]
    #: Pods that wait now and would get a node too (the objects bring nodes, or make room).
    also_placed: tuple[PlannedPlacement, ...]
    #: Objects that the store would refuse, with what it says.
    refused: tuple[str, ...]
    #: Allocation of each resource.
    use: tuple[PlannedUse, ...]

    @property
    def unfit(self) -> int:
        """Pods that would not fit: those that somebody holds back are not counted."""
        held = [e for e in self.pending if e.reason is not None and e.reason.code in _HELD]
        return sum(len(each.pods) for each in self.pending) - sum(len(e.pods) for e in held)


class _PlanSnapshot(NamedTuple):
    """A copy at one moment."""

    #: Nodes of the pods that have one, by uid; names with it.
    nodes: dict[str, tuple[str, str]]
    #: Percent allocated, by resource.
    use: dict[str, float]


def plan(
    state: StoreState, objects: Sequence[InputObject], rules: SchedulingRules | None = None
) -> PlanReport:
    """Try some objects on a copy of a state.

    Args:
        state: what is there.
        objects: what would be submitted, controllers replaced by their pods.
        rules: other rules than the state's own.

    Raises:
        InputError: the rules cannot be used.
    """
    copy = PlaneCopy(state, rules)
    copy.settle()
    before = _look(copy)
    refused, fresh = _submit(copy, objects)
    copy.settle()
    after = _look(copy)
    return PlanReport(
        state=state.title,
        objects=dict(Counter(each.kind.kind for each in objects)),
        pods=sum(each.kind == POD for each in objects),
        placed=tuple(_placements(copy.plane, [uid for uid in fresh if uid in after.nodes])),
        pending=tuple(_unplaced(copy, fresh)),
        victims=tuple(_victims(before, after)),
        also_placed=tuple(
            _placements(copy.plane, [u for u in after.nodes if u not in before.nodes | fresh])
        ),
        refused=tuple(refused),
        use=tuple(
            PlannedUse(name, before.use.get(name, 0.0), pct)
            for name, pct in sorted(after.use.items())
        ),
    )


def nodes_of(state: StoreState) -> list[Node]:
    """The nodes of a state, for DaemonSets among the objects."""
    return [decode_as(Node, each.body) for each in state.records if each.kind == NODE]


def _submit(copy: PlaneCopy, objects: Sequence[InputObject]) -> tuple[list[str], dict[str, Record]]:
    """Create the objects; what was refused, and the pods that came, by uid."""
    refused: list[str] = []
    fresh: dict[str, Record] = {}
    for each in objects:
        (reply,) = copy.store.create(each.kind, [each.body])
        if reply.outcome is not WriteOutcome.OK:
            refused.append(f"{each.title}: {reply.message or reply.code.value}")
        elif each.kind == POD and reply.record is not None:
            fresh[reply.record.uid] = reply.record
    return refused, fresh


def _look(copy: PlaneCopy) -> _PlanSnapshot:
    """Where every pod is, and how full the nodes are."""
    records = copy.store.list(POD).records
    return _PlanSnapshot(
        {each.uid: (_key(each), each.node) for each in records if each.node}, _use(copy)
    )


def _use(copy: PlaneCopy) -> dict[str, float]:
    cluster = copy.plane.cluster
    ledger, slots = cluster.ledger, cluster.nodes.live_slots()
    found = {}
    for column, name in enumerate(ledger.resources.names):
        offered = int(ledger.alloc[slots, column].sum())
        if offered and column != PODS:
            found[name] = 100.0 * int(ledger.used[slots, column].sum()) / offered
    present = ledger.devices.kind[slots] > 0
    if present.any():
        found["devices"] = float(100.0 - ledger.devices.free[slots][present].mean() / 10.0)
    return found


def _placements(plane: Plane, uids: Sequence[str]) -> list[PlannedPlacement]:
    """Pods with a node, in the order given."""
    pods, found = plane.cluster.pods, []
    for uid in uids:
        row = pods.row(uid)
        if row is not None:
            devices = mask_to_text(int(pods.devices[row]))
            found.append(PlannedPlacement(pods.key(row), plane.cluster.node_of(row), devices))
    return found


def _unplaced(copy: PlaneCopy, fresh: dict[str, Record]) -> list[UnplacedPods]:
    """The new pods that have no node, kind by kind; one of each kind is asked."""
    plane = copy.plane
    pods, asker = plane.cluster.pods, PendingExplainer(plane)
    rows, found = [], []
    for uid, record in fresh.items():
        row = pods.row(uid)
        if row is None:
            found.append(UnplacedPods((_key(record),), asker.stranger(record)))
        elif pods.slot[row] == NO_SLOT and pods.state[row] != PodState.BOUND:
            rows.append(row)
    for number, members in enumerate(kinds_of(plane, np.array(rows, np.int64))):
        said = asker.ask(members[0]) if number < ASKED else None
        keys = tuple(pods.key(row) for row in members)
        found.append(
            UnplacedPods(keys, said.reason, said.message) if said else UnplacedPods(keys, None)
        )
    return found


def _victims(before: _PlanSnapshot, after: _PlanSnapshot) -> list[PlannedVictim]:
    """Pods that had a node and have it no longer."""
    found = []
    for uid, (key, node) in before.nodes.items():
        _, now = after.nodes.get(uid, (key, ""))
        if now != node:
            found.append(PlannedVictim(key, node, now))
    return found


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
