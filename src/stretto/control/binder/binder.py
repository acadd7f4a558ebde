"""The binder: the only writer of claims.

The binder checks a plan on the ledger (``conflicts``), charges granted claims *before* any I/O, and
then sends the binds. *ok* and "already bound to us" are success; *conflict* and *refused* release
the claim; *unknown* keeps it until the object has been read, and as long as the unanswered bind may
still take effect. Gangs are bound in one transaction if the store has transactions. A new binder
after a crash treats every assumed pod as unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise, repeat
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import POD
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.binder.conflicts import Judgement
from stretto.control.binder.volumes import LONGEST_WAIT, LateVolumes, VolumeReserver
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodEvent, PodState, step_pods
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import ConflictCause, Plan, Verdict
from stretto.state.work.units import Cure, Unit, Units
from stretto.stores.lane import AnsweredBatch, Lane, LaneLimits
from stretto.stores.store import (
    Bind,
    Replies,
    Reply,
    StatusReason,
    Store,
    Write,
    WriteOutcome,
    WriteVerb,
)

READ_BACK_AFTER: Final = 1.0
"""Seconds between reads of a pod whose bind is unanswered."""

LANDS_WITHIN: Final = 10.0
"""Seconds for which an unanswered write may still take effect on a slow server."""

LANE: Final = LaneLimits(window=256, batch=256)
"""Maximum number of unanswered binds.

The server stays busy, and an urgent bind waits behind few others.
"""

_NOTHING_SENT: Final[Mapping[int, float]] = MappingProxyType({})

Refusals = list[tuple[Unit, tuple[int, ...], ConflictCause]]
"""Units with their rows that were not granted, and the cause."""


class ClaimJudge(Protocol):
    """Decides which claims of a plan still hold."""

    def judge(self, plan: Plan) -> Judgement:
        """Grant and charge the claims that hold."""
        ...

    def expire(self, now: float) -> None:
        """Release capacity whose holding time is over."""
        ...

    def next_due(self) -> float:
        """Clock time of the next ``expire`` with work, in seconds; infinity for never."""
        ...


class UnansweredBind(NamedTuple):
    """A claim whose bind is unanswered."""

    #: Serial of the pod.
    serial: int
    #: Clock time at which the pod is read back, in seconds.
    look_at: float
    #: Clock time until which the bind may still take effect; infinity if the time of sending is
    #: unknown.
    until: float


class SentBind(msgspec.Struct, frozen=True, gc=False):
    """A bind under way."""

    #: Row of the pod.
    row: int
    #: Serial of the pod when the bind was sent.
    serial: int
    #: Clock time until which an earlier, unanswered bind of the pod may still take effect.
    until: float = -inf


class BinderOptions(NamedTuple):
    """Options of a binder."""

    #: Failpoint of the fault simulator.
    failpoint: Failpoint = no_failpoint
    #: Chooses volumes for a pod whose victims are gone; ``None`` if no rule reads volumes.
    late_volumes: LateVolumes | None = None
    #: Seconds for which a pod waits for its volumes.
    volume_timeout: float = LONGEST_WAIT


DEFAULT_OPTIONS: Final = BinderOptions()
"""No failpoints, no volume rules."""


class Binder:
    """Judges plans, charges claims and binds pods."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        judge: ClaimJudge,
        options: BinderOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Adopt all assumed pods of the cluster."""
        #: Claims whose bind is unanswered, by row.
        self.in_doubt: dict[int, UnansweredBind] = {}
        #: Outcomes of claims so far: ``granted``, ``bound`` and causes of refusals.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._store = store
        self._judge = judge
        self._failpoint = options.failpoint
        #: Writes the volume objects before their pods are bound.
        self.volumes = VolumeReserver(cluster, store, options.late_volumes, options.volume_timeout)
        #: True if the store binds whole units in one transaction.
        self._binds_units = store.capabilities.binds_units
        self._answers_later = store.capabilities.answers_later
        self._lane: Lane[int, SentBind] = Lane(store, LANE)
        self._landed: Refusals = []
        self._bound: list[int] = []
        self._adopt()

    def commit(self, plan: Plan, now: float) -> Verdict:
        """Grant and bind valid claims; every claim of the plan is answered or in doubt."""
        judgement = self._judge.judge(plan)
        rows = plan.rows[judgement.granted]
        refused: Refusals = [(u.unit, bad, cause) for u, bad, cause in judgement.refused]
        for _, bad, cause in refused:
            self.counts[cause.value] += len(bad)
        if refused:  # the snapshot of later units showed these as placed, so they were rejected
            self._cluster.changes.cures |= Cure.POD_LEFT
        if len(rows):
            step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)
            self.counts["granted"] += len(rows)
            self._failpoint("binder.charged")
            granted = judgement.granted
            if plan.volumes:
                granted, lost = self._reserve(plan, granted)
                refused.extend(lost)
            gangs = _gangs_of(plan, granted)
            if len(granted):
                refused.extend(self._bind(plan.rows[granted].tolist(), now, gangs))
        return Verdict(plan.shard, rows, refused)

    def resolve_unanswered(self, now: float) -> Refusals:
        """Process answers of binds in flight, and read unanswered pods back.

        A pod read back is bound, gone, or bound again to the same node.
        """
        self._judge.expire(now)
        self._land(now, most=inf)
        ready, in_vain = self.volumes.settle(now) if self.volumes.waiting else ([], [])
        refused, self._landed = self._landed, []
        if not (self.in_doubt or ready or in_vain):
            return refused
        due = [row for row, doubt in self.in_doubt.items() if doubt.look_at <= now]
        pods = self._cluster.pods
        again: dict[int, float] = {}
        for row, cause in in_vain:
            refused.extend(self._release(row, cause))
        if ready:
            refused.extend(self._bind(ready, now, []))
        for row in due:
            doubt = self.in_doubt.pop(row)
            if pods.serial[row] != doubt.serial or pods.state[row] != PodState.ASSUMED:
                continue
            record = self._store.get(POD, pods.namespace[row], pods.name[row])
            if record is None or record.uid != pods.uid[row]:
                refused.extend(self._release(row, ConflictCause.POD_DELETED))
            elif record.node and record.node != self._cluster.node_of(row):
                refused.extend(self._release(row, ConflictCause.STORE_CONFLICT))
            elif not record.node and pods.slot[row] == NO_SLOT:
                refused.extend(self._release(row, ConflictCause.NODE_DELETED))
            elif not record.node:
                again[row] = min(doubt.until, now + LANDS_WITHIN)
            else:
                self._bound.append(row)
        gangs = self._gangs_among(again)
        lost = {row for _, rows, _ in refused for row in rows}
        for gang in [gang for gang in gangs if lost and self._is_short(gang, lost)]:
            gangs.remove(gang)
            for row in gang:
                del again[row]
                refused.extend(self._release(row, ConflictCause.GANG_SHORT))
        if again:
            refused.extend(self._bind(list(again), now, gangs, again))
        return refused

    def take_bound(self) -> list[int]:
        """Rows of the pods bound since the last call."""
        bound, self._bound = self._bound, []
        return bound

    def bind_ready(self, units: Sequence[tuple[int, ...]], now: float) -> Refusals:
        """Bind claims that have waited for their victims, unit by unit."""
        refused: Refusals = []
        if not units:
            return refused
        for unit in units if self.volumes.late is not None else ():
            refused.extend(self._reserve_after_wait(unit))
        lost = {row for _, rows, _ in refused for row in rows}
        units = [unit for unit in units if lost.isdisjoint(unit)]
        rows = [row for unit in units for row in unit]
        if rows:
            gangs = [list(unit) for unit in units if len(unit) > 1]
            refused.extend(self._bind(rows, now, gangs))
        return refused

    def next_due(self) -> float:
        """Clock time of the next read-back; infinity if nothing is in doubt."""
        looks = (doubt.look_at for doubt in self.in_doubt.values())
        return min((*looks, self.volumes.next_due(), self._judge.next_due()))

    @property
    def is_waiting(self) -> bool:
        """True if any bind is unanswered."""
        return bool(self.in_doubt) or self._lane.unanswered > 0

    def unanswered_rows(self) -> set[int]:
        """Rows of claims whose binds are unanswered."""
        return {*self.in_doubt, *(sent.row for sent in self._lane.in_flight())}

    def land(self, now: float) -> None:
        """Wait for the answers to all binds in flight.

        The next ``resolve_unanswered`` returns the claims that they release.
        """
        self._land(now, most=0)

    def _land(self, now: float, most: float) -> None:
        """Process the answers that have arrived; wait while more than ``most`` have not."""
        if not self._lane.unanswered:
            return
        for batch in self._lane.answers(most):
            self._failpoint("binder.after-write")
            self._landed += self._answered(batch, now)

    def _answered(self, batch: AnsweredBatch[SentBind], now: float) -> Refusals:
        """Process answers to binds of pods that may have changed in the meantime."""
        pods, rows, replies = self._cluster.pods, [], []
        again = {sent.row: sent.until for sent in batch.entries if sent.until > now}
        every = [sent.row for sent in batch.entries]
        is_same = pods.serial[every] == [sent.serial for sent in batch.entries]
        is_assumed = pods.state[every] == PodState.ASSUMED
        if (is_same & is_assumed).all():
            return self._take(every, batch.replies, now, again)
        known = zip(every, batch.replies, is_same.tolist(), is_assumed.tolist(), strict=True)
        for row, reply, same, assumed in known:
            is_ok = reply.outcome is WriteOutcome.OK
            if not same:  # the end of the pod was seen in the meantime
                self.counts["bound"] += is_ok
            elif is_ok or assumed:
                rows.append(row)
                replies.append(reply)
        return self._take(rows, replies, now, again)

    def _adopt(self) -> None:
        """Adopt all assumed pods as unanswered.

        After a crash it is unknown which binds were sent.
        """
        pods = self._cluster.pods
        for row in np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED).tolist():
            self.in_doubt[row] = UnansweredBind(int(pods.serial[row]), 0.0, inf)

    def _reserve(
        self, plan: Plan, granted: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], Refusals]:
        """Write the volumes of granted claims; claims whose volumes are lost are released.

        A gang that loses one is released as a whole.
        """
        desk, node_of = self.volumes, self._cluster.node_of
        wanted = [i for i in granted.tolist() if i in plan.volumes]
        writes = [desk.reserve(plan.volumes[i], node_of(int(plan.rows[i]))) for i in wanted]
        answers = zip(wanted, desk.write_all(writes), strict=True)
        lost = {i: cause for i, cause in answers if cause is not None}
        for unit in plan.units:
            if unit.at_least > 1 and any(unit.start <= i < unit.stop for i in lost):
                for i in granted[(granted >= unit.start) & (granted < unit.stop)].tolist():
                    lost.setdefault(i, ConflictCause.GANG_SHORT)
        refused: Refusals = []
        for i, cause in lost.items():
            refused.extend(self._release(int(plan.rows[i]), cause))
        return np.array([i for i in granted.tolist() if i not in lost], np.int64), refused

    def _reserve_after_wait(self, unit: Sequence[int]) -> Refusals:
        """Write the volumes of a unit that has waited for its victims; all of them or none."""
        desk, pods, refused = self.volumes, self._cluster.pods, Refusals()
        assert desk.late is not None
        chosen = [(row, desk.late(row, int(pods.slot[row]))) for row in unit]
        for row, choice in chosen:
            writes = [] if choice is None else desk.reserve(choice, self._cluster.node_of(row))
            cause = desk.write(writes)
            if cause is not None:
                for each in unit:
                    refused.extend(self._release(each, cause))
                break
        return refused

    def _bind(
        self,
        rows: list[int],
        now: float,
        gangs: list[list[int]],
        again: Mapping[int, float] = _NOTHING_SENT,
    ) -> Refusals:
        """Send the binds of charged claims and process the answers of a store that answers at once.

        Args:
            rows: the claims.
            now: clock time.
            gangs: rows that must be bound together, if the store has transactions.
            again: rows that were sent before, with the time until which that bind may still take
                effect.
        """
        if self.volumes.waits and len(ready := self.volumes.hold(rows, now)) < len(rows):
            rows, there = ready, set(ready)
            gangs = [some for gang in gangs if (some := [row for row in gang if row in there])]
            if not rows:
                return []
        if not self._answers_later or (gangs and self._binds_units):
            rows, replies = self._send_at_once(rows, gangs if self._binds_units else [])
            return self._take(rows, replies, now, again)
        self._land(now, most=self._lane.window)
        serials = self._cluster.pods.serial[np.asarray(rows, np.int64)].tolist()
        binds = self._binds(rows)
        self._failpoint("binder.before-write")
        untils = [again.get(row, -inf) for row in rows] if again else repeat(-inf)
        self._lane.send(
            Write(WriteVerb.BIND, POD, binds), list(map(SentBind, rows, serials, untils))
        )
        return []

    def _take(
        self, rows: Sequence[int], replies: Replies, now: float, again: Mapping[int, float]
    ) -> Refusals:
        """Process replies."""
        refused: Refusals = []
        bound = [reply.outcome for reply in replies].count(WriteOutcome.OK)
        self.counts["bound"] += bound
        if bound == len(rows):
            self._bound += rows
            return refused
        for row, reply in zip(rows, replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                self._bound.append(row)
                continue
            if reply.outcome is WriteOutcome.UNKNOWN:
                self._doubt(row, now + (reply.retry_after or READ_BACK_AFTER), now + LANDS_WITHIN)
                self.counts["unknown"] += 1
            elif row in again and again[row] > now and _is_for_now(reply):
                self._doubt(row, now + (reply.retry_after or READ_BACK_AFTER), again[row])
            else:
                refused.extend(self._release(row, _cause(reply)))
        return refused

    def _send_at_once(self, rows: list[int], gangs: list[list[int]]) -> tuple[list[int], Replies]:
        """Bind gangs in transactions and other pods one by one.

        Returns rows in the order of replies.
        """
        together = [row for gang in gangs for row in gang]
        single = rows
        if len(together) == len(rows):
            single = []
        elif together:
            bundled = set(together)
            single = [row for row in rows if row not in bundled]
        order = single + together
        binds = self._binds(order)
        ends = accumulate(map(len, gangs), initial=len(single))
        units = [binds[start:stop] for start, stop in pairwise(ends)]
        self._failpoint("binder.before-write")
        replies = self._store.bind(binds[: len(single)]) if single else []
        answers = self._store.bind_units(units) if units else []
        self._failpoint("binder.after-write")
        return order, [*replies, *chain.from_iterable(answers)]

    def _doubt(self, row: int, look_at: float, until: float) -> None:
        self.in_doubt[row] = UnansweredBind(int(self._cluster.pods.serial[row]), look_at, until)

    def _is_short(self, gang: list[int], lost: set[int]) -> bool:
        """Return whether too few pods of a gang would remain to bind the rest of it."""
        unit = self._units.of_row(gang[0])
        if unit is None or unit.scheduled:
            return False
        return len(set(unit.bound) - lost) < unit.min_member

    def _gangs_among(self, rows: Iterable[int]) -> list[list[int]]:
        """Rows of gangs, gang by gang."""
        found: dict[Unit, list[int]] = {}
        for row in rows:
            unit = self._units.of_row(row)
            if unit is not None and unit.is_gang:
                found.setdefault(unit, []).append(row)
        return list(found.values())

    def _binds(self, rows: Sequence[int]) -> list[Bind]:
        pods, names = self._cluster.pods, self._cluster.nodes.names
        spaces, texts, uids = pods.namespace, pods.name, pods.uid
        index = np.asarray(rows, np.int64)
        slots = pods.slot[index].tolist()
        masks = pods.devices[index].tolist()
        notes = self._cluster.charges.bind_annotations
        annotations = [
            notes(row, mask) if mask else None for row, mask in zip(rows, masks, strict=True)
        ]
        whose = ([column[row] for row in rows] for column in (spaces, texts, uids))
        return list(map(Bind, *whose, [names[slot] for slot in slots], annotations))

    def _release(self, row: int, cause: ConflictCause) -> Refusals:
        """Release one claim after the store has refused it."""
        cluster = self._cluster
        cluster.charges.refund(row)
        step_pods(cluster.pods.state, np.array([row], np.int64), PodEvent.REJECT)
        self.counts[cause.value] += 1
        unit = self._units.of_row(row)
        return [(unit, (row,), cause)] if unit is not None else []


def _gangs_of(plan: Plan, granted: npt.NDArray[np.int64]) -> list[list[int]]:
    """Rows of granted claims that must be bound together, gang by gang."""
    gangs = [unit for unit in plan.units if unit.at_least > 1]
    if not gangs:
        return []
    starts = np.searchsorted(granted, [unit.start for unit in gangs])
    stops = np.searchsorted(granted, [unit.stop for unit in gangs])
    rows: list[int] = plan.rows[granted].tolist()
    return [rows[i:j] for i, j in zip(starts.tolist(), stops.tolist(), strict=True) if j > i]


def _is_for_now(reply: Reply) -> bool:
    """Return whether an earlier bind may still take effect despite this refusal."""
    return reply.outcome is WriteOutcome.REFUSED and reply.code is not StatusReason.NOT_FOUND


def _cause(reply: Reply) -> ConflictCause:
    """Cause of a refusal."""
    if reply.code is StatusReason.NOT_FOUND:
        return ConflictCause.POD_DELETED
    if reply.outcome is WriteOutcome.CONFLICT:
        return ConflictCause.STORE_CONFLICT
    return ConflictCause.STORE_REFUSED
