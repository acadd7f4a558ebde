"""Plans a submission or a drain: the effect of new objects, or of a node's end, on a state.

    report = plan(state_of("sqlite:run.db"), objects)

The sandbox first schedules the pods that are already pending. Then the objects are created, and the
real plane decides. The report is the difference. Nothing outside the sandbox changes.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.api.wire.kinds import POD
from stretto.explain.words.reasons import Reason, ReasonCode
from stretto.inputs.objects.relations import InputObject
from stretto.plane.copy import PlaneCopy, SchedulingRules, StoreState
from stretto.plane.plane import Plane
from stretto.sim.fitting.changes import NodeChange, changed
from stretto.sim.history.kubelet import KubeletRefusal, kubelet_refusals
from stretto.sim.pending import EXPLAINED, PendingExplainer, pending_groups
from stretto.sim.submission.applied import PlannedChange, apply_objects
from stretto.state.rows.devices import mask_to_text
from stretto.state.rows.resources import PODS
from stretto.stores.store import Patch, Record

SCHEMA: Final = "stretto.plan/v1"
"""Version of ``PlanReport`` as JSON."""
_NOT_SCHEDULED: Final = frozenset(
    {ReasonCode.GATED, ReasonCode.OTHER_SCHEDULER, ReasonCode.ENDED, ReasonCode.IN_HAND}
)
"""Reasons that do not depend on capacity or rules."""


class PlannedPlacement(msgspec.Struct, frozen=True):
    """A pod that would be bound."""

    #: ``namespace/name``.
    pod: str
    #: The node.
    node: str
    #: Allocated devices, such as ``0,3``; empty for none.
    devices: str = ""


class UnplacedPods(msgspec.Struct, frozen=True):
    """Pods that would stay pending for the same reason."""

    #: ``namespace/name`` of each pod.
    pods: tuple[str, ...]
    #: The dominant reason; ``None`` if there were too many groups to explain all.
    reason: Reason | None
    #: kube-scheduler's message about all nodes; empty if the reason is ``None``.
    message: str = ""


class PlannedVictim(msgspec.Struct, frozen=True):
    """A pod that would be evicted."""

    #: ``namespace/name``.
    pod: str
    #: Its current node.
    node: str
    #: Its new node; empty if it would be deleted or pending.
    instead: str = ""


class PlannedUse(msgspec.Struct, frozen=True):
    """Allocation of one resource, before and after."""

    #: Name of the resource.
    resource: str
    #: Percent of the allocatable amount of all nodes before the submission.
    before_pct: float
    #: Percent of the allocatable amount of all nodes after the submission.
    after_pct: float


class PlanReport(msgspec.Struct, frozen=True):
    """The effect of a submission."""

    #: Title of the state.
    state: str
    #: Number of submitted objects by kind.
    objects: dict[str, int]
    #: Pods that would be created, including those of submitted controllers.
    pods: int
    #: Pods that would be bound.
    placed: tuple[PlannedPlacement, ...]
    #: Pods that would stay pending, by reason.
    pending: tuple[UnplacedPods, ...]
    #: Pods that would be evicted.
    victims: tuple[PlannedVictim, ...]
    #: Pods that are already pending and would be bound too, because the objects add or free
    #: capacity.
    also_placed: tuple[PlannedPlacement, ...]
    #: Objects that the store would refuse, with the reasons.
    refused: tuple[str, ...]
    #: Allocation of each resource.
    use: tuple[PlannedUse, ...]
    #: Effect on each submitted object; the pods of a controller are one change.
    changes: tuple[PlannedChange, ...] = ()
    #: Pods whose node does not exist or would reject them.
    kubelet_refused: tuple[KubeletRefusal, ...] = ()

    @property
    def unfit(self) -> int:
        """Pods that would not fit; gated, ended and other schedulers' pods are not counted."""
        pending = sum(
            len(each.pods)
            for each in self.pending
            if each.reason is None or each.reason.code not in _NOT_SCHEDULED
        )
        return pending + len(self.kubelet_refused)


class _PlanSnapshot(NamedTuple):
    """Placements and allocation at one instant."""

    #: (pod key, node) of each bound pod, by uid.
    nodes: dict[str, tuple[str, str]]
    #: Percent allocated, by resource.
    use: dict[str, float]


def plan(
    state: StoreState, objects: Sequence[InputObject], rules: SchedulingRules | None = None
) -> PlanReport:
    """Compute the effect of a submission in a sandbox.

    Args:
        state: the state.
        objects: the submitted objects, with controllers replaced by their pods.
        rules: rules that replace the state's own; ``None`` for none.

    Raises:
        InputError: the rules cannot be used.
    """
    copy = PlaneCopy(state, rules)
    copy.settle()
    before = _snapshot(copy)
    applied = apply_objects(copy.store, objects)
    copy.look()
    unrunnable = tuple(kubelet_refusals(copy, objects))
    _fail(copy, unrunnable)
    bad = {each.pod for each in unrunnable}
    fresh = {uid: each for uid, each in applied.fresh.items() if _key(each) not in bad}
    copy.settle()
    after = _snapshot(copy)
    also = [uid for uid in after.nodes if uid not in before.nodes | applied.fresh]
    return PlanReport(
        state=state.title,
        objects=dict(Counter(each.kind.kind for each in objects)),
        pods=len(applied.fresh),
        placed=tuple(_placements(copy.plane, [uid for uid in fresh if uid in after.nodes])),
        pending=tuple(
            _unplaced(copy, {uid: each for uid, each in fresh.items() if uid not in after.nodes})
        ),
        victims=tuple(_victims(before, after, applied.deleted)),
        also_placed=tuple(_placements(copy.plane, also)),
        refused=applied.refused,
        use=tuple(
            PlannedUse(name, before.use.get(name, 0.0), pct)
            for name, pct in sorted(after.use.items())
        ),
        changes=applied.changes,
        kubelet_refused=unrunnable,
    )


def plan_drain(state: StoreState, node: str, rules: SchedulingRules | None = None) -> PlanReport:
    """Compute where the pods of a node would go if the node were drained.

    Pods of a DaemonSet end with their node. The sandbox schedules the other ones together with the
    pods that are already pending; disruption budgets do not limit it.

    Raises:
        NotFoundError: the state has no such node.
        InputError: the rules cannot be used.
    """
    before = {each.uid: each for each in state.records if each.kind == POD and each.node}
    leaving = {uid: each for uid, each in before.items() if each.node == node}
    copy = PlaneCopy(changed(state, NodeChange(lost=frozenset([node]))), rules)
    copy.settle()
    after = _snapshot(copy)
    present = {each.uid for each in copy.store.list(POD).records}
    homeless = {uid: leaving[uid] for uid in leaving if uid in present and uid not in after.nodes}
    places = {uid: (_key(each), each.node) for uid, each in before.items()}
    return PlanReport(
        state=state.title,
        objects={},
        pods=len(leaving),
        placed=tuple(_placements(copy.plane, [uid for uid in leaving if uid in after.nodes])),
        pending=tuple(_unplaced(copy, homeless)),
        victims=tuple(_victims(_PlanSnapshot(places, {}), after, frozenset(leaving))),
        also_placed=(),
        refused=(),
        use=(),
    )


def _fail(copy: PlaneCopy, refusals: Sequence[KubeletRefusal]) -> None:
    """End the pods that a kubelet rejects, so that they use no capacity of their node."""
    for each in refusals:
        space, _, name = each.pod.partition("/")
        status = {"phase": "Failed", "reason": each.reason, "message": each.message}
        copy.store.patch_status(POD, [Patch(space, name, {"status": status})])


def _snapshot(copy: PlaneCopy) -> _PlanSnapshot:
    """The placements of all pods and the allocation of the nodes."""
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
    """Placements of pods with a node, in the given order."""
    pods, found = plane.cluster.pods, []
    for uid in uids:
        row = pods.row(uid)
        if row is not None:
            devices = mask_to_text(int(pods.devices[row]))
            found.append(PlannedPlacement(pods.key(row), plane.cluster.node_of(row), devices))
    return found


def _unplaced(copy: PlaneCopy, fresh: dict[str, Record]) -> list[UnplacedPods]:
    """The new pods without a node, by group; one pod of each group is explained."""
    plane = copy.plane
    pods, explainer = plane.cluster.pods, PendingExplainer(plane, fresh.values())
    rows, found = [], []
    for uid, record in fresh.items():
        row = pods.row(uid)
        if row is None:
            found.append(UnplacedPods((_key(record),), explainer.explain_unknown(record)))
        else:
            rows.append(row)
    for number, members in enumerate(pending_groups(plane, np.array(rows, np.int64))):
        answer = explainer.explain(members[0]) if number < EXPLAINED else None
        keys = tuple(pods.key(row) for row in members)
        found.append(
            UnplacedPods(keys, answer.reason, answer.message)
            if answer
            else UnplacedPods(keys, None)
        )
    return found


def _victims(
    before: _PlanSnapshot, after: _PlanSnapshot, deleted: frozenset[str]
) -> list[PlannedVictim]:
    """Pods that are no longer on their node, except those that the submission deletes."""
    found = []
    for uid, (key, node) in before.nodes.items():
        if uid in deleted:
            continue
        _, now = after.nodes.get(uid, (key, ""))
        if now != node:
            found.append(PlannedVictim(key, node, now))
    return found


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}"
