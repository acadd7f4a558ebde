"""A shard as a role: it finds nodes for the pods that were dispatched to it.

Its plane works as in one process, but writes an assumption instead of a binding, and a nomination
instead of an eviction. The binder's daemon binds and evicts. Pods that other shards have decided
appear on their nodes, so that their capacity is in use.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from stretto.api.types.handover_annotations import (
    Hand,
    VictimNote,
    given_back,
    with_condition,
)
from stretto.base.clock import Clock, timestamp
from stretto.control.reporting.wording import UNSCHEDULABLE
from stretto.daemons.roles.fleet_liveness import ShardHeartbeat
from stretto.daemons.roles.placement_reasons import PlacementReasons
from stretto.daemons.roles.solo_plane import ShardConfig, solo_plane_config
from stretto.daemons.roles.views.dispatched_pods import ShardView
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import STEP, Plane, Stage, Wiring, insert_after, with_stage
from stretto.plane.work import Part, StepWork
from stretto.state.rows.lifecycle import UnitState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.units import Dispatch, Setback, SetbackReason, Unit, UnitKind
from stretto.stores.store import (
    Store,
)


class ShardRole:
    """The plane of the shard: it places the pods that the dispatcher sent to this shard."""

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
            add_planned=self._add_planned,
            timers=(self.shard_heartbeat.next_due, self.view.next_due),
        )
        #: The part of the scheduler that the shard runs.
        self.plane = Plane(solo_plane_config(config, wire), self.view, clock, wiring=wiring)
        self._reasons = PlacementReasons(self.plane.cluster, self.plane.units)
        self._keeps_unfit = config.profile.preemption.enabled
        self.plane.observers.append(self._note_unfit)

    def _beat(self, plane: Plane, work: StepWork) -> None:
        """Write the heartbeat."""
        del plane
        self.shard_heartbeat.beat(work.now)

    # ------------------------------------------------------------ returned pods

    def _reopen_rejected(self, plane: Plane, work: StepWork) -> None:
        """Place a gang whose members were rejected again, as a whole."""
        del work
        pods = plane.cluster.pods
        for uid in self.view.take_returned():
            row = pods.row(uid)
            unit = plane.units.of_row(row) if row is not None else None
            if unit is not None and unit.scheduled:
                really = sum(pods.uid[each] not in self.view.known for each in unit.bound)
                unit.scheduled = really >= unit.min_member

    def _note_unfit(self, step: Step) -> None:
        """Note the pods to return: those with a planned node; all pods without preemption."""
        for plan in step.plans:
            self._unfit_pods.extend(
                each
                for each in plan.setbacks
                if each.why is SetbackReason.NO_PLACE
                and not (self._keeps_unfit and all(slot < 0 for slot in self._planned(each.rows)))
            )

    def _return_unfit(self, plane: Plane, work: StepWork) -> None:
        """Return pods that do not fit: another shard may place them, or backfill plans again."""
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

    # ------------------------------------------------------------ planned nodes

    def _add_planned(self, plane: Plane, work: Sequence[Dispatch]) -> Sequence[Dispatch]:
        """Add the nodes that the dispatcher's backfill has planned to the work."""
        del plane
        slots = [self._planned(each.rows) for each in work]
        return [
            msgspec.structs.replace(each, slots=mine) if max(mine) >= 0 else each
            for each, mine in zip(work, slots, strict=True)
        ]

    def _planned(self, rows: Sequence[int]) -> tuple[int, ...]:
        """The planned slot of each pod; -1 without a planned node, or if the node is gone."""
        pods, by_name = self.plane.cluster.pods, self.plane.cluster.nodes.by_name
        known = (self.view.known.get(pods.uid[row]) for row in rows)
        return tuple(
            by_name.get(each.standing.planned, NO_SLOT) if each is not None else NO_SLOT
            for each in known
        )

    # ------------------------------------------------------------ queries of the view

    def _unit(self, uid: str) -> Unit | None:
        row = self.plane.cluster.pods.row(uid)
        return self.plane.units.of_row(row) if row is not None else None

    def is_late(self, uid: str) -> bool:
        """Return whether the unit of a pod already has its nodes, so that the pod is late."""
        unit = self._unit(uid)
        return unit is not None and unit.kind is not UnitKind.POD and unit.scheduled

    def is_forming(self, uid: str) -> bool:
        """Return whether the unit of a pod waits for other pods, so that it was not tried yet."""
        unit = self._unit(uid)
        return unit is not None and unit.state is UnitState.FORMING

    def victims_of(self, uid: str) -> tuple[VictimNote, ...]:
        """The victims of a pod's unit on the pod's node."""
        pods = self.plane.cluster.pods
        row = pods.row(uid)
        nomination = self.plane.cluster.nominations.by_row.get(row) if row is not None else None
        if row is None or nomination is None:
            return ()
        rows = [r for r, serial in nomination.victims.items() if pods.serial[r] == serial]
        return tuple(
            VictimNote(pods.name[r], pods.namespace[r], pods.uid[r])
            for r in rows
            if pods.slot[r] == pods.slot[row]
        )

    def reasons(self) -> PlacementReasons:
        """Movements and reservations that explain placements."""
        return self._reasons

    def _partition(self, plane: Plane, work: StepWork) -> None:
        """Try the blocks first whose nodes are mostly in the shard's share."""
        del work
        owners, slots = self.view.owners, self.plane.cluster.ledger.slots
        seen = (slots.version, owners.version)
        if seen == self._partition_of:
            return
        self._partition_of = seen
        own = owners.blocks_of(self._name, self.plane.cluster)
        if not self.plane.config.partition or not own.any():
            own[:] = True
        self.plane.shards[0].follow(own)


def shard_plane(config: PlaneConfig, store: Store, clock: Clock, wire: ShardConfig) -> Plane:
    """The part of the scheduler that the shard runs."""
    return ShardRole(config, store, clock, wire).plane
