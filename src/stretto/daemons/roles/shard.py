"""A shard as a role: finds nodes for the pods that were dispatched to it.

Its plane works as in one process, but a "bind" is written as an assumption and a victim is named in
a nomination; the binder's daemon does both. Pods that other shards have decided about appear on
their nodes, so that their capacity is taken.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.types.godel import QueuePolicy
from stretto.api.types.handover_annotations import (
    Hand,
    HandoverState,
    NominatedNote,
    VictimNote,
    assumed,
    given_back,
    nominated,
    rejected,
    tried,
    with_condition,
)
from stretto.api.wire.kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, Kind
from stretto.base.clock import Clock, timestamp
from stretto.control.queues.config import QueueConfig, dispatcher_config
from stretto.control.reporting.wording import UNSCHEDULABLE
from stretto.daemons.roles.delays import backoff_after
from stretto.daemons.roles.fleet_liveness import BEAT_EVERY, ShardHeartbeat
from stretto.daemons.roles.links import PlacementReasons
from stretto.daemons.roles.store_view import StoreView, UnboundPod
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import (
    STEP,
    Part,
    Plane,
    Stage,
    StepWork,
    Wiring,
    insert_after,
    with_stage,
)
from stretto.state.rows.lifecycle import UnitState
from stretto.state.rows.slots import BLOCK
from stretto.state.work.units import DEFAULT_QUEUE, Setback, SetbackReason, Unit, UnitKind
from stretto.stores.capabilities import Capabilities
from stretto.stores.store import (
    Bind,
    Patch,
    Record,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

_NOT_OURS: Final = Reply(
    WriteOutcome.CONFLICT, StatusReason.CONFLICT, "the pod does not belong to this shard"
)
_DONE: Final = Reply(WriteOutcome.OK)


class ShardQuestions(Protocol):
    """Queries of the view to the shard's plane."""

    def is_late(self, uid: str) -> bool:
        """Whether the unit of a pod has its nodes already, so that the pod arrived later."""
        ...

    def is_forming(self, uid: str) -> bool:
        """Whether the unit of a pod lacks other pods, so that it was not tried yet."""
        ...

    def victims_of(self, uid: str) -> tuple[VictimNote, ...]:
        """The pods that must be evicted before a pod can have its node."""
        ...

    def reasons(self) -> PlacementReasons:
        """Why pods go to their nodes: recommendations and reservations."""
        ...


class ShardView(StoreView):
    """Shows pods of this shard as pending, and decided ones on their nodes."""

    keeps_queues = False

    def __init__(
        self,
        inner: Store,
        names: frozenset[str],
        clock: Clock,
        shard: str,
        questions: ShardQuestions,
    ) -> None:
        """See the store as the shard of this name; ``questions`` asks the shard's plane."""
        super().__init__(inner, names, clock)
        self._shard = shard
        #: Pods nominated here: the plane holds their capacity, so they appear without a node.
        self.ours: set[str] = set()
        self._questions = questions

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities without waiting for volumes, which the binder does."""
        return msgspec.structs.replace(super().capabilities, completes_claims=False)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Change parts of objects; what volumes need is assumed here and written by the binder."""
        if kind in (PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM):
            return [_DONE] * len(patches)
        return super().patch(kind, patches)

    def sight(self, uid: str, standing: HandoverState) -> str | None:
        """Show pods of this shard as pending and decided pods on their nodes."""
        if standing.hand is Hand.DISPATCHED:
            return "" if standing.scheduler == self._shard else None
        if standing.hand is Hand.NOMINATED and uid in self.ours:
            return ""
        return standing.node or None

    def delay(self, known: UnboundPod) -> float:
        """Back off pods that were rejected repeatedly."""
        return backoff_after(known.returns)

    def noted(self, record: Record, before: UnboundPod | None, after: HandoverState | None) -> None:
        """End a nomination of this shard after any other change of the pod."""
        if after is None or after.hand is not Hand.NOMINATED:
            self.ours.discard(record.uid)

    # ------------------------------------------------------------ decisions

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Write assumptions; nominated pods belong to the binder already."""
        at, places, named = timestamp(self._clock.now()), Counter[str](), Counter[str]()
        bodies: dict[str, dict[str, Any]] = {}
        said: dict[str, Reply] = {}
        for bind in binds:
            known = self.known.get(bind.uid)
            standing = known.standing if known is not None else None
            if standing is None:
                said[bind.uid] = _NOT_OURS
            elif standing.node == bind.node:
                said[bind.uid] = _DONE
            elif standing.hand is not Hand.DISPATCHED or standing.scheduler != self._shard:
                said[bind.uid] = _NOT_OURS
            else:
                index = self._place(bind.uid, bind.namespace, standing, places)
                more = dict(bind.annotations or {})
                more.update(self._questions.reasons().of(bind.uid, bind.node, named))
                bodies[bind.uid] = assumed(standing, bind.node, index, at, more)
        said.update(zip(bodies, self.hand(bodies), strict=True))
        return [said[bind.uid] for bind in binds]

    def patch_status(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        """Write nominations as annotations, and record that an unplaced pod was tried."""
        if kind is not POD:
            return super().patch_status(kind, patches)
        answers: dict[int, Reply] = {}
        plain: list[tuple[int, Patch]] = []
        for i, patch in enumerate(patches):
            status = patch.patch.get("status") or {}
            if "nominatedNodeName" in status:
                answers[i] = self._nominate(patch.uid, status["nominatedNodeName"])
            else:
                plain.append((i, self._as_tried(patch)))
        sent = super().patch_status(kind, [patch for _, patch in plain]) if plain else []
        answers.update((i, reply) for (i, _), reply in zip(plain, sent, strict=True))
        return [answers[i] for i in range(len(patches))]

    def _nominate(self, uid: str, node: str | None) -> Reply:
        known = self.known.get(uid)
        if known is None:
            return _NOT_OURS
        if node is None:
            if known.standing.hand is not Hand.NOMINATED or uid not in self.ours:
                return _DONE
            return self.hand({uid: rejected(known.standing)})[0]
        places = Counter[str]()
        index = self._place(uid, known.record.namespace, known.standing, places)
        wanted = NominatedNote(node, self._questions.victims_of(uid))
        body = nominated(known.standing, wanted, index, timestamp(self._clock.now()))
        self.ours.add(uid)
        reply = self.hand({uid: body})[0]
        if reply.outcome is not WriteOutcome.OK:
            self.ours.discard(uid)
        return reply

    def _as_tried(self, patch: Patch) -> Patch:
        known = self.known.get(patch.uid)
        if (
            known is None
            or known.standing.hand is not Hand.DISPATCHED
            or self._questions.is_forming(patch.uid)
        ):
            return patch
        more = tried(known.standing)
        return msgspec.structs.replace(patch, patch={**more, **patch.patch}) if more else patch

    def _place(
        self, uid: str, namespace: str, standing: HandoverState, places: Counter[str]
    ) -> int | None:
        """Place of a pod in its unit, as far as this batch goes."""
        if self._questions.is_late(uid):
            return None
        if not standing.group:
            return 0
        key = f"{namespace}/{standing.group}"
        places[key] += 1
        return places[key] - 1


class ShardConfig(msgspec.Struct, frozen=True):
    """Settings of the shard role in addition to the plane's."""

    #: Name of the shard and of its Scheduler object.
    name: str
    #: Seconds between heartbeats.
    beat_every: float = BEAT_EVERY
    #: Whether the nodes of its share are tried first.
    partition: bool = True


class ShardRole:
    """The shard's plane: it places the pods that the dispatcher sent to this shard."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock, wire: ShardConfig) -> None:
        """Build the plane; the store is not read before its first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the shard sees it.
        self.view = ShardView(store, names, clock, wire.name, self)
        #: Renews the shard's Scheduler object.
        self.shard_heartbeat = ShardHeartbeat(store, wire.name, clock, wire.beat_every)
        self._name = wire.name
        self._partition_of: tuple[int, int] = (-1, -1)
        self._unfit_pods: list[Setback] = []
        stages = (
            Stage("heartbeat", self._beat, before_sync=True),
            *with_stage(STEP, Stage("partition", self._partition)),
            Stage("give-back", self._return_unfit),
        )
        wiring = Wiring(
            parts=frozenset({Part.REPORTER}),
            stages=insert_after(stages, "absorb", Stage("rejected", self._reopen_rejected)),
            evicts=False,
            timers=(self.shard_heartbeat.next_due, self.view.next_due),
        )
        #: The part of the scheduler that the shard runs.
        self.plane = Plane(_shard_config(config, wire), self.view, clock, wiring=wiring)
        self._reasons = PlacementReasons(self.plane.cluster, self.plane.units)
        if not config.profile.preemption.enabled:
            self.plane.observers.append(self._note_unfit)

    def _beat(self, plane: Plane, work: StepWork) -> None:
        """Write the heartbeat."""
        del plane
        self.shard_heartbeat.beat(work.now)

    # ------------------------------------------------------------ returned pods

    def _reopen_rejected(self, plane: Plane, work: StepWork) -> None:
        """A gang whose members were rejected is placed as a whole again."""
        del work
        pods = plane.cluster.pods
        for uid in self.view.take_returned():
            row = pods.row(uid)
            unit = plane.units.of_row(row) if row is not None else None
            if unit is not None and unit.scheduled:
                really = sum(pods.uid[each] not in self.view.known for each in unit.bound)
                unit.scheduled = really >= unit.min_member

    def _note_unfit(self, step: Step) -> None:
        for plan in step.plans:
            self._unfit_pods.extend(s for s in plan.setbacks if s.why is SetbackReason.NO_PLACE)

    def _return_unfit(self, plane: Plane, work: StepWork) -> None:
        """Return pods that fit nowhere if there is no preemption: another shard may place them."""
        misfits, self._unfit_pods = self._unfit_pods, []
        if not misfits:
            return
        now, pods, at = work.now, plane.cluster.pods, timestamp(plane.clock.now())
        bodies: dict[str, dict[str, Any]] = {}
        for setback in misfits:
            words = dict(zip(setback.rows, setback.messages, strict=False))
            for row in setback.rows:
                known = self.view.known.get(pods.uid[row])
                if known is None or known.standing.hand is not Hand.DISPATCHED:
                    continue
                said = self.plane.verdicts.of(int(pods.class_id[row]), now, at_any_cost=True)
                message = words.get(row) or (said.message if said is not None else "")
                condition = {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": UNSCHEDULABLE,
                    "message": message,
                    "lastProbeTime": None,
                    "lastTransitionTime": at,
                }
                body = given_back(known.standing, self._name)
                bodies[pods.uid[row]] = with_condition(body, [condition])
        self.view.hand(bodies)

    # ------------------------------------------------------------ queries of the view

    def _unit(self, uid: str) -> Unit | None:
        row = self.plane.cluster.pods.row(uid)
        return self.plane.units.of_row(row) if row is not None else None

    def is_late(self, uid: str) -> bool:
        """Whether the unit of a pod has its nodes already, so that the pod arrived later."""
        unit = self._unit(uid)
        return unit is not None and unit.kind is not UnitKind.POD and unit.scheduled

    def is_forming(self, uid: str) -> bool:
        """Whether the unit of a pod lacks other pods, so that it was not tried yet."""
        unit = self._unit(uid)
        return unit is not None and unit.state is UnitState.FORMING

    def victims_of(self, uid: str) -> tuple[VictimNote, ...]:
        """The victims of a pod's unit on the pod's node."""
        pods = self.plane.cluster.pods
        row = pods.row(uid)
        nomination = self.plane.cluster.evictions.nominations.get(row) if row is not None else None
        if row is None or nomination is None:
            return ()
        rows = [r for r, serial in nomination.victims.items() if pods.serial[r] == serial]
        return tuple(
            VictimNote(pods.name[r], pods.namespace[r], pods.uid[r])
            for r in rows
            if pods.slot[r] == pods.slot[row]
        )

    def reasons(self) -> PlacementReasons:
        """Why pods go to their nodes: recommendations and reservations."""
        return self._reasons

    def _partition(self, plane: Plane, work: StepWork) -> None:
        """The blocks most of whose nodes are in the shard's share are tried first."""
        del work
        owners, slots = self.view.owners.by_node, self.plane.cluster.ledger.slots
        seen = (slots.version, self.view.owners.version)
        if seen == self._partition_of:
            return
        self._partition_of = seen
        mine: npt.NDArray[np.int64] = np.zeros(slots.blocks, np.int64)
        for name, slot in self.plane.cluster.nodes.by_name.items():
            mine[slot // BLOCK] += 1 if owners.get(name) == self._name else -1
        own = mine > 0
        if not self.plane.config.partition or not own.any():
            own[:] = True
        self.plane.shards[0].follow(own)


def _shard_config(config: PlaneConfig, wire: ShardConfig) -> PlaneConfig:
    """A plane of one shard; queues were applied before, so priority alone orders its units."""
    order = QueueConfig(DEFAULT_QUEUE, policy=QueuePolicy.PRIORITY)
    queues = config.dispatcher or dispatcher_config(config.profile)
    queues = replace(queues, other_queues=order, queues=())
    shape = msgspec.structs.replace(config.cluster, shard=wire.name if wire.partition else "")
    return msgspec.structs.replace(
        config, shards=1, partition=wire.partition, dispatcher=queues, cluster=shape
    )


def shard_plane(config: PlaneConfig, store: Store, clock: Clock, wire: ShardConfig) -> Plane:
    """The part of the scheduler that the shard runs."""
    return ShardRole(config, store, clock, wire).plane
