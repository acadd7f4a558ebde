"""The dispatcher as a role: it forms and orders units and assigns pods to shards by annotation.

Dispatched pods appear to the plane's dispatcher as placed. Returned pods appear as new pods after a
back-off that doubles with each return. An event that may cure them ends the back-off.
"""

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

import msgspec
import numpy as np

from stretto.api.types.handover_annotations import (
    Hand,
    dispatched,
    reset,
)
from stretto.base.clock import Clock, timestamp
from stretto.daemons.roles.backfill import BackfillHeads
from stretto.daemons.roles.fleet_liveness import DEAD_AFTER, ShardFleet
from stretto.daemons.roles.reclaim import QueueReclaim
from stretto.daemons.roles.share_writer import NodeShareWriter
from stretto.daemons.roles.views.unassigned_pods import DispatcherView
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane, Stage, Wiring
from stretto.plane.work import Part, StepWork
from stretto.state.rows.lifecycle import PodEvent, step_pods
from stretto.state.work.claims import ConflictCause
from stretto.state.work.units import Cure, Dispatch, Unit, UnitKind
from stretto.stores.store import Store, WriteOutcome

WINDOW: Final = 4096
"""Maximum number of unanswered pods of a shard."""
BACKOFF: Final = 1.0
"""Shortest back-off in seconds, even after a possible cure."""
LANDED_WITHIN: Final = 10.0
"""Seconds within which an unanswered write may still take effect."""
AT_ONCE: Final = 256
"""Maximum number of pods taken back in one step."""
REMEMBERED: Final = 50_000
"""Number of PodGroups above which deleted groups are dropped."""
HELPS: Final = (
    Cure.NODE_ADDED | Cure.NODE_GREW | Cure.NODE_LABELS | Cure.NODE_TAINTS | Cure.POD_LEFT
)
"""Events that end the back-off of a pod that fits at no shard."""


class DispatcherRoleConfig(msgspec.Struct, frozen=True):
    """Settings of the dispatcher role in addition to the plane's."""

    #: Seconds without a heartbeat after which a shard is dead.
    dead_after: float = DEAD_AFTER
    #: True if nodes are assigned to shards by annotation.
    shares_nodes: bool = True


class _UnansweredHandover(NamedTuple):
    """An unanswered dispatch of a pod."""

    #: The pod's row and serial.
    row: int
    serial: int
    #: Its unit.
    unit: Unit
    #: Clock time after which the dispatch counts as failed.
    until: float


class _HandOver(NamedTuple):
    """Dispatch of a pod to a shard."""

    #: Its unit.
    unit: Unit
    #: Its row.
    row: int
    #: Name of the shard.
    shard: str
    #: The node planned by backfill; empty for any node.
    planned: str


class DispatcherRole:
    """The plane of the dispatcher: it forms and orders units and dispatches pods to shards."""

    def __init__(
        self, config: PlaneConfig, store: Store, clock: Clock, wire: DispatcherRoleConfig
    ) -> None:
        """Build the plane; the store is not read before its first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the dispatcher sees it.
        self.view = DispatcherView(store, names, clock)
        #: The live shards.
        self.fleet = ShardFleet(store, wire.dead_after)
        #: Number of writes by kind and outcome.
        self.counts: Counter[str] = Counter()
        self._dead_after = wire.dead_after
        self._unanswered: dict[str, _UnansweredHandover] = {}
        self._unknown_shards: dict[str, float] = {}
        self._unknown: dict[str, str] = {}
        self._next = float("inf")
        config = msgspec.structs.replace(config, shards=1, partition=False)
        wiring = Wiring(
            parts=frozenset({Part.REPORTER}),
            stages=self._stages(),
            timers=(self.view.next_due, self.fleet.next_due, self._next_due),
        )
        #: The part of the scheduler that the dispatcher runs.
        self.plane = Plane(config, self.view, clock, wiring=wiring)
        self.plane.dispatcher.remove_shard(0, 0.0)  # the shards come from the fleet
        #: Reclaims capacity for the guarantees of queues.
        self.reclaim = QueueReclaim(self.plane, self.view, self.view.at)
        self._heads = BackfillHeads(self.plane)
        self._shares = NodeShareWriter(self.plane.cluster, self.view) if wire.shares_nodes else None

    def _stages(self) -> tuple[Stage, ...]:
        """The stages of the dispatcher's step."""
        return (
            Stage("fleet", self._follow_fleet),
            Stage("delayed", self._release_delayed),
            Stage("ratios", self._set_ratios),
            Stage("absorb", Plane.absorb),
            Stage("timers", Plane.run_timers),
            Stage("hand-overs", self._hand_over),
            Stage("orphans", self._requeue_orphans),
            Stage("reclaim", self._reclaim),
            Stage("node-shares", self._share_nodes),
            Stage("observe", Plane.observe),
            Stage("report", self._report),
        )

    def _next_due(self) -> float:
        """Clock time at which the role has work without an event."""
        due = [self._next, self.reclaim.next_due()]
        if self._shares is not None:
            due.append(self._shares.next_due())
        due.extend(doubt.until for doubt in self._unanswered.values())
        return min(due)

    def _release_delayed(self, plane: Plane, work: StepWork) -> None:
        """Show pods in back-off when an event may cure them."""
        del work
        self._next = float("inf")
        if plane.cluster.changes.cures & HELPS:
            self.view.release_delayed(BACKOFF)

    def _set_ratios(self, plane: Plane, work: StepWork) -> None:
        """Set the over-commitment ratios of nodes; without them, pods are evicted needlessly."""
        plane.controllers.look(work.now)

    def _share_nodes(self, plane: Plane, work: StepWork) -> bool:
        """Write the shard that tries each node first."""
        del plane
        if self._shares is None:
            return False
        return self._shares.step([member.name for member in self.fleet.alive()], work.now) > 0

    def _report(self, plane: Plane, work: StepWork) -> None:
        """Report pending pods, and pods that no part of the plane schedules."""
        abnormal, before = plane.cluster.abnormal, self._unknown
        self._unknown = dict(self.view.unknown.values())
        for about in before.keys() - self._unknown.keys():
            if abnormal.get(about) == before[about]:
                del abnormal[about]
        abnormal.update(self._unknown)
        plane.report(work)

    def _follow_fleet(self, plane: Plane, work: StepWork) -> bool:
        """Add joined shards to the dispatcher and remove dead ones."""
        if not self.fleet.poll(work.now):
            return False
        for member in self.fleet.members.values():
            if member.alive:
                plane.dispatcher.add_shard(member.number)
            else:
                plane.dispatcher.remove_shard(member.number, work.now)
        return True

    # ------------------------------------------------------------ dispatch

    def _hand_over(self, plane: Plane, work: StepWork) -> bool:
        """Resolve unanswered dispatches and dispatch further units."""
        self._resolve_hand_overs(work.now)
        return self._hand_units(work.now) > 0

    def _hand_units(self, now: float) -> int:
        """Dispatch units to shards; return the number of pods."""
        names = {member.number: member.name for member in self.fleet.alive()}
        if not names:
            return 0
        capacity = [0] * (max(names) + 1)
        for number, name in names.items():
            has = len(self.view.at.get(name, ()))
            capacity[number] = max(0, WINDOW - has)
            self.plane.dispatcher.set_remote_load(number, has)
        sent: list[_HandOver] = []
        handed = self.plane.dispatcher.sender.dispatch(now, capacity)
        setbacks = [
            *self.reclaim.setbacks(each for work in handed for each in work),
            *self._heads.setbacks(each for work in handed for each in work),
        ]
        stay = {each.unit for each in setbacks}
        for number, work in enumerate(handed):
            for dispatch in work:
                if dispatch.unit not in stay:
                    sent.extend(self._chosen(dispatch, names[number]))
        if setbacks:
            self.plane.dispatcher.answers.set_back(setbacks, now)
        if sent:
            self._write(sent, now)
        return len(sent)

    def _chosen(self, dispatch: Dispatch, name: str) -> list[_HandOver]:
        """Pods with their shard: a unit has one shard.

        A single pod goes to an untried shard first.
        """
        unit, pods = dispatch.unit, self.plane.cluster.pods
        if unit.kind is UnitKind.POD_GROUP:
            key = unit.key.partition("/")[2]
            if len(self.view.group_at) > REMEMBERED:
                self.view.forget_groups(self.plane.cluster.groups)
            before = self.view.group_at.get(key, "")
            name = before if self.fleet.is_alive(before) else name
            self.view.group_at[key] = name
            if before not in ("", name):
                self.view.split.add(key)
        elif unit.kind is UnitKind.POD and pods.uid[dispatch.rows[0]] in self.view.known:
            failed = self.view.known[pods.uid[dispatch.rows[0]]].standing.failed
            others = [m.name for m in self.fleet.alive() if m.name not in failed]
            if name in failed and others:
                name = min(others, key=lambda each: len(self.view.at.get(each, ())))
        nodes = self.plane.cluster.nodes.names
        planned = [nodes[slot] for slot in dispatch.slots] or [""] * len(dispatch.rows)
        rows = zip(dispatch.rows, planned, strict=True)
        return [_HandOver(unit, row, name, node) for row, node in rows]

    def _write(self, sent: Sequence[_HandOver], now: float) -> None:
        """Write the shard of each pod and process the replies."""
        pods, known = self.plane.cluster.pods, self.view.known
        at = timestamp(self.plane.clock.now())
        there = [each for each in sent if pods.uid[each.row] in known]
        bodies = {
            pods.uid[row]: dispatched(known[pods.uid[row]].standing, name, at, planned)
            for _, row, name, planned in there
        }
        placed: list[int] = []
        lost = [(each.unit, each.row) for each in sent if pods.uid[each.row] not in known]
        for (unit, row, _, _), reply in zip(there, self.view.hand(bodies), strict=True):
            self.counts[f"dispatch {reply.outcome.value}"] += 1
            if reply.outcome is WriteOutcome.OK:
                placed.append(row)
            elif reply.outcome is WriteOutcome.UNKNOWN:
                serial = int(pods.serial[row])
                self._unanswered[pods.uid[row]] = _UnansweredHandover(
                    row, serial, unit, now + LANDED_WITHIN
                )
            else:
                lost.append((unit, row))
        self._settle(placed, lost, now)

    def _settle(self, placed: list[int], lost: list[tuple[Unit, int]], now: float) -> None:
        if placed:
            rows = np.array(placed, np.int64)
            step_pods(self.plane.cluster.pods.state, rows, PodEvent.ASSUME)
            self.plane.dispatcher.answers.placed(rows, now)
        if lost:
            refused = [(unit, (row,), ConflictCause.STORE_CONFLICT) for unit, row in lost]
            self.plane.dispatcher.answers.settle(refused, now)

    def _resolve_hand_overs(self, now: float) -> None:
        """Resolve unanswered dispatches by the watch, or by timeout."""
        pods, lost = self.plane.cluster.pods, list[tuple[Unit, int]]()
        for uid, doubt in list(self._unanswered.items()):
            known = self.view.known.get(uid)
            waits = known is not None and known.standing.hand is Hand.PENDING
            if waits and now < doubt.until:
                continue
            del self._unanswered[uid]
            if pods.serial[doubt.row] == doubt.serial and waits:
                lost.append((doubt.unit, doubt.row))
        self._settle([], lost, now)

    # ------------------------------------------------------------ repair

    def _requeue_orphans(self, plane: Plane, work: StepWork) -> bool:
        """Take back pods that no live shard owns."""
        del plane
        now = work.now
        known, wrong = self.view.known, [*self.view.abnormal, *self.view.split_group_pods()]
        for name, uids in self.view.at.items():
            if uids and not self.fleet.is_alive(name) and self._is_given_up(name, now):
                wrong.extend(uids)
        due = {uid: known[uid].again_at for uid in wrong if uid in known}
        self._next = min(self._next, min((at for at in due.values() if at > now), default=inf))
        overdue = [uid for uid, at in due.items() if at <= now]
        return self._take_back(overdue[:AT_ONCE], now) > 0

    def _reclaim(self, plane: Plane, work: StepWork) -> bool:
        """Evict for queues below their guarantee; take back pods that would use that capacity."""
        self.reclaim.order(work.now)
        count = self._take_back(self.reclaim.pods_to_reclaim(work.now), work.now)
        return plane.evictor.send(work.now) or count > 0

    def _take_back(self, wrong: Sequence[str], now: float) -> int:
        """Write that pods belong to the dispatcher again; return the number of attempts."""
        view = self.view
        bodies = {uid: reset(view.known[uid].standing) for uid in wrong}
        for uid, reply in zip(bodies, view.hand(bodies, whole=True), strict=True):
            self.counts[f"reset {reply.outcome.value}"] += 1
            known = view.known.get(uid)
            if known is None:
                continue
            known.again_at = now + BACKOFF  # back off: the annotations may become wrong again
            if reply.outcome is not WriteOutcome.OK:
                self._next = min(self._next, known.again_at)
        return len(bodies)

    def _is_given_up(self, name: str, now: float) -> bool:
        """Return whether pods of a dead shard are taken back.

        A shard that was alive before is dead at once. A shard that was never alive has the full
        timeout for its first heartbeat.
        """
        if name in self.fleet.members:
            return True
        until = self._unknown_shards.setdefault(name, now + self._dead_after)
        self._next = min(self._next, until)
        return now >= until


def dispatcher_plane(
    config: PlaneConfig, store: Store, clock: Clock, wire: DispatcherRoleConfig
) -> Plane:
    """The part of the scheduler that the dispatcher runs."""
    return DispatcherRole(config, store, clock, wire).plane
