"""The binder: the one writer of claims.

A plan is judged on the ledger (``conflicts``), what is granted is charged *before* any I/O, and
then the binds go to the store. Each reply is taken for what it says: *ok* and "already bound to
us" are success; *conflict* and *refused* give the claim back; *unknown* keeps it until the object
has been read, and as long as the unanswered bind may still land. Gangs land in one transaction
where the store can do that. A new binder after a crash treats every assumed pod as unknown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.api.wire.kinds import POD
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.binder.conflicts import PlanJudge
from stretto.control.binder.in_flight import AHEAD, AnsweredBinds, BindsInFlight
from stretto.control.binder.volumes import VolumeReserver
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodEvent, PodState, step_pods
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.claims import ConflictCause, Plan, Verdict
from stretto.state.work.units import Cure, Unit, Units
from stretto.stores.store import (
    Bind,
    Replies,
    Reply,
    StatusReason,
    Store,
    UnitReplies,
    WriteOutcome,
)

READ_BACK_AFTER: Final = 1.0
"""Seconds between looks at a pod whose bind went unanswered."""

FLIGHT: Final = 10.0
"""Seconds for which a write that went unanswered may still land at a slow server."""

_NOTHING_SENT: Final[Mapping[int, float]] = MappingProxyType({})

Refusals = list[tuple[Unit, tuple[int, ...], ConflictCause]]
"""Units with rows that were not granted, and why."""


class UnansweredBind(NamedTuple):
    """A claim whose bind has not been answered."""

    #: Serial of the pod.
    serial: int
    #: Clock time at which to read it back.
    look_at: float
    #: Clock time until which an unanswered bind may still land; infinity where nobody knows when
    #: it was sent.
    until: float


class Binder:
    """Judges plans, charges claims and binds pods."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        judge: PlanJudge,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        """A binder that takes over whatever is assumed in the cluster now."""
        #: Claims whose bind has not been answered, by row.
        self.in_doubt: dict[int, UnansweredBind] = {}
        #: What became of claims so far: ``granted``, ``bound`` and the causes of refusals.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._store = store
        self._judge = judge
        self._failpoint = failpoint
        #: Writes what volumes need before their pods are bound.
        self.volumes = VolumeReserver(cluster, store)
        #: Binds whole units in one transaction, where the store can.
        self._bind_units: Callable[[list[list[Bind]]], UnitReplies] | None = getattr(
            store, "bind_units", None
        )
        self._in_flight = BindsInFlight(store)
        self._landed: Refusals = []
        self._adopt()

    def commit(self, plan: Plan, now: float) -> Verdict:
        """Grant what holds and bind it; every claim of the plan is answered or in doubt."""
        judgement = self._judge.judge(plan)
        rows = plan.rows[judgement.granted]
        refused: Refusals = [(u.unit, bad, cause) for u, bad, cause in judgement.refused]
        for _, bad, cause in refused:
            self.counts[cause.value] += len(bad)
        if refused:  # units behind them were told "no" by a snapshot that showed them placed
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
        """Hear of binds under way, and read back what went unanswered.

        That is done, gone, or bound again to the same node.
        """
        self._land(now, most=inf)
        due = [row for row, doubt in self.in_doubt.items() if doubt.look_at <= now]
        pods = self._cluster.pods
        again: dict[int, float] = {}
        ready, in_vain = self.volumes.settle(now)
        refused, self._landed = self._landed, []
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
                again[row] = min(doubt.until, now + FLIGHT)
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

    def bind_ready(self, units: Sequence[tuple[int, ...]], now: float) -> Refusals:
        """Bind claims that have waited for their victims, each unit together."""
        refused: Refusals = []
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
        """Clock time of the next read-back; infinity when nothing is in doubt."""
        looks = (doubt.look_at for doubt in self.in_doubt.values())
        return min((*looks, self.volumes.next_due()))

    @property
    def is_waiting(self) -> bool:
        """Whether the answer to some bind is not known yet."""
        return bool(self.in_doubt) or self._in_flight.unanswered > 0

    def unanswered_rows(self) -> set[int]:
        """Rows of claims whose binds have not been answered."""
        return {*self.in_doubt, *self._in_flight.rows()}

    def land(self, now: float) -> None:
        """Wait for the answers to all binds under way.

        What they give back is told by the next ``resolve_unanswered``.
        """
        self._land(now, most=0)

    def _land(self, now: float, most: float) -> None:
        """Take the answers that are there; wait while more than ``most`` are not."""
        for landed in self._in_flight.land(most):
            self._failpoint("binder.after-write")
            self._landed += self._answered(landed, now)

    def _answered(self, landed: AnsweredBinds, now: float) -> Refusals:
        """Take answers to binds of pods that may have changed meanwhile."""
        pods, rows, replies = self._cluster.pods, [], []
        for (row, serial), reply in zip(landed.rows, landed.replies, strict=True):
            if reply.outcome is WriteOutcome.OK or (
                pods.serial[row] == serial and pods.state[row] == PodState.ASSUMED
            ):  # else its end, or its node, has been seen meanwhile
                rows.append(row)
                replies.append(reply)
        return self._take(rows, replies, now, landed.again)

    def _adopt(self) -> None:
        """After a crash nobody knows which binds were sent: all that is assumed is in doubt."""
        pods = self._cluster.pods
        for row in np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED).tolist():
            self.in_doubt[row] = UnansweredBind(int(pods.serial[row]), 0.0, inf)

    def _reserve(
        self, plan: Plan, granted: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], Refusals]:
        """Write what the volumes of granted claims need; those whose volumes are lost go back.

        A gang that loses one goes back whole.
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
        """What the volumes of a unit need that has waited for its victims; all of it or nothing."""
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
        """Send the binds of charged claims and take the replies for what they say.

        Args:
            rows: the claims.
            now: clock time.
            gangs: those of them that must land together, where the store can do that: then they
                are waited for.
            again: rows that were sent before, and until when that bind may still land.
        """
        if self.volumes.waits and len(ready := self.volumes.hold(rows, now)) < len(rows):
            rows, there = ready, set(ready)
            gangs = [some for gang in gangs if (some := [row for row in gang if row in there])]
            if not rows:
                return []
        if self._in_flight.can_send and not (gangs and self._bind_units):
            self._land(now, most=AHEAD)
            serials = self._cluster.pods.serial[np.asarray(rows, np.int64)].tolist()
            binds = self._binds(rows)
            self._failpoint("binder.before-write")
            self._in_flight.begin(binds, list(zip(rows, serials, strict=True)), again)
            return []
        rows, replies = self._send(rows, gangs)
        return self._take(rows, replies, now, again)

    def _take(
        self, rows: Sequence[int], replies: Replies, now: float, again: Mapping[int, float]
    ) -> Refusals:
        """Take replies for what they say."""
        refused: Refusals = []
        bound = [reply.outcome for reply in replies].count(WriteOutcome.OK)
        self.counts["bound"] += bound
        if bound == len(rows):
            return refused
        for row, reply in zip(rows, replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                continue
            if reply.outcome is WriteOutcome.UNKNOWN:
                self._doubt(row, now + (reply.retry_after or READ_BACK_AFTER), now + FLIGHT)
                self.counts["unknown"] += 1
            elif row in again and again[row] > now and _is_for_now(reply):
                self._doubt(row, now + (reply.retry_after or READ_BACK_AFTER), again[row])
            else:
                refused.extend(self._release(row, _cause(reply)))
        return refused

    def _send(self, rows: list[int], gangs: list[list[int]]) -> tuple[list[int], Replies]:
        """Write binds, gangs as a whole; rows in the order of the replies."""
        bind_units = self._bind_units
        if not gangs or bind_units is None:
            binds = self._binds(rows)
            self._failpoint("binder.before-write")
            replies = self._store.bind(binds)
            self._failpoint("binder.after-write")
            return rows, replies
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
        answers = bind_units(units)
        self._failpoint("binder.after-write")
        return order, [*replies, *chain.from_iterable(answers)]

    def _doubt(self, row: int, look_at: float, until: float) -> None:
        self.in_doubt[row] = UnansweredBind(int(self._cluster.pods.serial[row]), look_at, until)

    def _is_short(self, gang: list[int], lost: set[int]) -> bool:
        """Whether too few of a gang would be left to bind the rest of it."""
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
        told = [notes(row, mask) if mask else None for row, mask in zip(rows, masks, strict=True)]
        whose = ([column[row] for row in rows] for column in (spaces, texts, uids))
        return list(map(Bind, *whose, [names[slot] for slot in slots], told))

    def _release(self, row: int, cause: ConflictCause) -> Refusals:
        """Give one claim back after the store has said no."""
        cluster = self._cluster
        cluster.charges.refund(row)
        step_pods(cluster.pods.state, np.array([row], np.int64), PodEvent.REJECT)
        self.counts[cause.value] += 1
        unit = self._units.of_row(row)
        return [(unit, (row,), cause)] if unit is not None else []


def _gangs_of(plan: Plan, granted: npt.NDArray[np.int64]) -> list[list[int]]:
    """Rows of the granted claims that must land together, gang by gang."""
    gangs = [unit for unit in plan.units if unit.at_least > 1]
    if not gangs:
        return []
    starts = np.searchsorted(granted, [unit.start for unit in gangs])
    stops = np.searchsorted(granted, [unit.stop for unit in gangs])
    rows: list[int] = plan.rows[granted].tolist()
    return [rows[i:j] for i, j in zip(starts.tolist(), stops.tolist(), strict=True) if j > i]


def _is_for_now(reply: Reply) -> bool:
    """Whether a "no" says nothing of an earlier bind that may be on its way."""
    return reply.outcome is WriteOutcome.REFUSED and reply.code is not StatusReason.NOT_FOUND


def _cause(reply: Reply) -> ConflictCause:
    """Why a store said no, in the words of verdicts."""
    if reply.code is StatusReason.NOT_FOUND:
        return ConflictCause.POD_DELETED
    if reply.outcome is WriteOutcome.CONFLICT:
        return ConflictCause.STORE_CONFLICT
    return ConflictCause.STORE_REFUSED
