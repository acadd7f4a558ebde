"""The binder as a role: takes the shards' decisions, checks them against the truth, and binds.

To the plane behind it a decided pod is one that wants a node, and its "shard" places it where the
annotations say. So a gang waits until enough of it is decided, every claim is judged like one of
our own (room, labels, taints, cordons, volumes, rules between pods), victims are asked to leave by
the same lane, and whatever does not hold is written back for the shard to decide again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.handover import (
    LOCK,
    LOCK_BINDER,
    MICRO_TOPOLOGY,
    Hand,
    Standing,
    locked,
    rejected,
)
from stretto.api.kinds import POD, POD_GROUP, Kind
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.control.scheduler.loop import Loop
from stretto.control.scheduler.preempt import Domain, Preempting
from stretto.control.scheduler.shard import Shard
from stretto.daemons.wire.view import SCALE, View
from stretto.framework.finder import Found
from stretto.framework.placement import Placement, Request
from stretto.framework.rehearsal import Candidate
from stretto.plane import Plane, PlaneConfig, Step
from stretto.state.claims import NoPlace, Plan, VolumeChoice
from stretto.state.classes import PodClass
from stretto.state.cluster import Cluster
from stretto.state.columns import Columns
from stretto.state.preemption import PreemptionRules
from stretto.state.topology import with_zones
from stretto.state.topology_ingest import device_mask
from stretto.state.units import Cure, Unit, Why
from stretto.stores.store import Bind, Code, Outcome, Patch, Record, Replies, Reply, Store

ANY_NUMBER: Final = 1 << 30
"""Room for pods whose places are decided already."""
_HELD_BACK: Final = Reply(Outcome.REFUSED, Code.FORBIDDEN, "its PodGroup was given up")
_LATER: Final = Reply(Outcome.REFUSED, Code.UNAVAILABLE, "its PodGroup could not be locked")


class BinderView(View):
    """Pods with a decision want a node; the others are no business of the binder's."""

    keeps_queues = False

    def __init__(self, inner: Store, names: frozenset[str], clock: Clock) -> None:
        """See the pods that ask for one of these scheduler names."""
        super().__init__(inner, names, clock)
        #: Tells the annotations of a PodGroup by ``namespace/name``; ``None`` where it needs none.
        self.notes_of: Callable[[str], tuple[str, dict[str, str]] | None] = lambda _key: None
        self._locked: set[str] = set()

    def sight(self, uid: str, standing: Standing) -> str | None:
        """Decided, or none of our business."""
        del uid
        return "" if standing.hand in (Hand.ASSUMED, Hand.NOMINATED) else None

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind; a gang's PodGroup is locked first, so that nobody times it out meanwhile."""
        groups: dict[str, Reply | None] = {}
        for bind in binds:
            key = self._group(bind)
            if key and key not in groups:
                groups[key] = self._lock(key)
        wanted = [bind for bind in binds if groups.get(self._group(bind)) is None]
        sent = self._inner.bind(wanted) if wanted else []
        for bind, reply in zip(wanted, sent, strict=True):
            if reply.outcome in (Outcome.OK, Outcome.UNKNOWN):
                self.pinned.setdefault(bind.uid, None)
            else:
                self.unpin(bind.uid)
        replies = iter(sent)
        return [groups.get(self._group(bind)) or next(replies) for bind in binds]

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        """The object as it is now; nothing is hidden from who looks what became of a binding."""
        if kind is not POD:
            return super().get(kind, namespace, name)
        record = self._inner.get(kind, namespace, name)
        if record is None:
            return None
        return msgspec.structs.replace(record, version=record.version * SCALE)

    def _group(self, bind: Bind) -> str:
        known = self.known.get(bind.uid)
        name = known.standing.group if known is not None else ""
        return f"{bind.namespace}/{name}" if name else ""

    def _lock(self, key: str) -> Reply | None:
        """Lock a group; ``None`` where that is done, else why its pods are not bound now."""
        found = self.notes_of(key)
        if found is None or found[0] in self._locked:
            return None
        uid, notes = found
        if LOCK in notes:
            return None if notes[LOCK] == LOCK_BINDER else _HELD_BACK
        namespace, _, name = key.partition("/")
        reply = self._inner.patch(POD_GROUP, [Patch(namespace, name, locked(), uid=uid)])[0]
        if reply.outcome is not Outcome.OK:
            return _LATER
        self._locked.add(uid)
        return None


class Decided:
    """Places pods where their annotations say; in every other way a shard's engine."""

    def __init__(
        self, cluster: Cluster, view: BinderView, eligible: Callable[[int, int], bool]
    ) -> None:
        """Read the decisions off a view; ``eligible`` is what nodes' labels and taints say."""
        #: The snapshot by which claims are dated.
        self.columns = Columns(cluster.ledger)
        #: No partition is ours.
        self.own_block: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        #: Chooses the volumes of a pod on a slot, where it needs any.
        self.volumes: Callable[[int, int], VolumeChoice | None] | None = None
        self._cluster = cluster
        self._view = view
        self._eligible = eligible

    def sync(self) -> None:
        """Bring the snapshot up to date."""
        self.columns.sync()

    def room(self, class_id: int) -> int:
        """A place is decided for every pod that we are asked about."""
        del class_id
        return ANY_NUMBER

    def decision(self, row: int) -> tuple[Standing, int] | None:
        """What was decided about a pod, with the slot; ``None`` for nothing that holds."""
        pods, known = self._cluster.pods, self._view.known.get(self._cluster.pods.uid[row])
        slot = self._cluster.nodes.by_name.get(known.standing.node) if known is not None else None
        if known is None or slot is None:
            return None
        # The judge looks at labels, taints and cordons only where they changed after a claim was
        # made; this one was made by somebody else, nobody knows when.
        if not self._eligible(int(pods.class_id[row]), slot):
            return None
        return known.standing, slot

    def place(self, request: Request) -> Placement:
        """The decided slots; a unit of which too little is decided has none.

        Whoever waits for others to leave is left to the part that looks after that.
        """
        rows = list(request.rows)
        slots = np.full(len(rows), -1, np.int32)
        masks = np.zeros(len(rows), np.int32)
        said: dict[int, NoPlace] = {}
        for start, stop, least in zip(
            request.starts, request.starts[1:], request.at_least, strict=False
        ):
            found = [self.decision(row) for row in rows[start:stop]]
            waits = any(each is not None and each[0].hand is Hand.NOMINATED for each in found)
            enough = sum(each is not None for each in found) >= least
            for i, each in enumerate(found, start):
                if waits or not enough:
                    said[i] = NoPlace(Cure.ANY, "not decided")
                elif each is not None:
                    slots[i], masks[i] = each[1], self.mask(rows[i], each[1])
        chosen = {
            i: choice
            for i, row in enumerate(rows)
            if slots[i] >= 0 and (choice := self._volumes_of(row, int(slots[i]))) is not None
        }
        return Placement(slots, masks, len(request.at_least), said, chosen)

    def _volumes_of(self, row: int, slot: int) -> VolumeChoice | None:
        if self.volumes is None or not self._cluster.pods.volumes[row]:
            return None
        return self.volumes(row, slot)

    def mask(self, row: int, slot: int) -> int:
        """Devices and NUMA nodes that were decided, or the likely ones where nobody says."""
        cluster, pods = self._cluster, self._cluster.pods
        pod: PodClass = cluster.classes[int(pods.class_id[row])]
        known = self._view.known[pods.uid[row]]
        mask = 0
        if pod.devices:
            mask = device_mask(known.record, None)
            if not mask:
                for each in pod.devices:
                    mask |= cluster.ledger.devices.guess(slot, each)
        if pod.asks.zones is None:
            return mask
        note = known.standing.notes.get(MICRO_TOPOLOGY, "")
        try:
            stated = cluster.topology.mask_of(slot, note, pods.key(row)) if note else 0
        except InputError:
            return mask  # the judge finds that it does not fit, and the shard decides again
        return mask | (stated or with_zones(0, cluster.topology.choose(slot, pod)))


class Named:
    """A finder that finds whom the annotations name."""

    def __init__(self, rules: PreemptionRules, decided: Decided, cluster: Cluster) -> None:
        """Read nominations off what was decided."""
        #: The profile's rules.
        self.rules = rules
        self._decided = decided
        self._cluster = cluster

    def begin(self, plan: Plan) -> None:
        """Every plan stands for itself."""

    def expect(self, rows: Sequence[int]) -> None:
        """Nothing is prepared."""

    def domains(self, unit: Unit, rows: Sequence[int], needed: int) -> Sequence[Domain]:
        """Where the unit may go was looked at when it was decided."""
        del unit, rows, needed
        return (None,)

    def keep_to(self, unit: Unit, row: int, domain: Domain, promised: Sequence[int]) -> None:
        """Every pod has one node to go to."""

    def find(self, row: int) -> Found:
        """The node that was decided, and who must leave it."""
        found = self._decided.decision(row)
        if found is None:
            return Found(None)
        standing, slot = found
        rows = [self._cluster.pods.row(victim.uid) for victim in standing.victims]
        victims = tuple(each for each in rows if each is not None)
        mask = self._decided.mask(row, slot)
        return Found(Candidate(slot, victims, frozenset(), (), mask))

    def take(self, row: int, candidate: Candidate) -> None:
        """The binder's judge keeps count."""

    def may_leave(self, rows: Sequence[int]) -> bool:
        """The binder's judge asks the budgets."""
        del rows
        return True

    def allows(self, row: int, candidate: Candidate) -> bool:
        """The binder's judge asks the rules."""
        return True

    def stand(self, mark: int) -> bool:
        """The binder's judge asks the rules."""
        return True

    def spare(self, rows: Collection[int]) -> None:
        """There is no second choice."""

    def chance(self, class_id: int, priority: int) -> int:
        """Nobody is woken by a chance: a new decision wakes."""
        del class_id, priority
        return 0

    def mark(self) -> int:
        """Nothing to go back to."""
        return 0

    def back_to(self, mark: int) -> None:
        """Nothing to take back."""


class BinderPlane(Plane):
    """The part of a plane that the binder runs."""

    def __init__(self, config: PlaneConfig, store: Store, clock: Clock) -> None:
        """Nothing is read before the first step."""
        names = config.cluster.scheduler_names.union(config.profile.scheduler_names)
        #: The store as the binder sees it.
        self.view = BinderView(store, names, clock)
        #: What was written back, by outcome.
        self.counts: Counter[str] = Counter()
        config = msgspec.structs.replace(config, shards=1, partition=False, report=None)
        super().__init__(config, self.view, clock)
        self.view.notes_of = self._notes_of
        self.rescheduler.run(None, lambda: self.evictor, clock)  # the controller moves pods
        self.relief.run(None, clock.monotonic())
        self.observers.append(self._answer)

    def next_due(self) -> float:
        """Clock time at which there is something to do although no event comes."""
        return min(super().next_due(), self.view.next_due())

    def _new_shard(self, number: int) -> Shard:
        """A shard of one loop: where pods go was decided, whatever their sub-cluster."""
        return Shard(number, lambda each: self._new_loop(number, each), None, self.clock)

    def _new_loop(self, number: int, sub_cluster: str) -> Loop:
        del sub_cluster
        decided = Decided(self.cluster, self.view, self.engine.is_eligible)
        decided.volumes = self.binder.volumes.late
        loop = Loop(number, decided, self.cluster.pods, self.engine.cures_of)
        finder = Named(self.config.profile.preemption, decided, self.cluster)
        loop.preempting = Preempting(self.cluster, self.units, finder, self.clock)
        return loop

    def _notes_of(self, key: str) -> tuple[str, dict[str, str]] | None:
        """Uid and annotations of a group of several; ``None`` for one that needs no lock."""
        group = self.cluster.groups.get(key)
        if group is None or group.spec.min_member < 2:
            return None
        return group.metadata.uid, dict(group.metadata.annotations)

    def _answer(self, step: Step) -> None:
        """Write back what does not hold."""
        rows: list[int] = []
        for plan in step.plans:
            for setback in plan.setbacks:
                if setback.why is Why.NO_PLACE:
                    rows.extend(setback.rows)
        for verdict in step.verdicts:
            for _, bad, _ in verdict.refused:
                rows.extend(bad)
        for _, bad, _ in step.refusals:
            rows.extend(bad)
        for failure in step.failed:
            rows.extend(failure.rows)
        for row in rows:
            self.view.unpin(self.cluster.pods.uid[row])
        self._reject(dict.fromkeys(rows))

    def _reject(self, rows: Iterable[int]) -> None:
        """Decisions that do not hold go back to whoever made them."""
        pods, view = self.cluster.pods, self.view
        bodies = {}
        for row in rows:
            known = view.known.get(pods.uid[row])
            if known is not None and known.standing.hand in (Hand.ASSUMED, Hand.NOMINATED):
                bodies[pods.uid[row]] = rejected(known.standing)
        for reply in view.hand(bodies):
            self.counts[f"reject {reply.outcome.value}"] += 1
