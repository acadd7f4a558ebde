"""The binder: the one writer of claims.

A plan is judged on the ledger (``conflicts``), what is granted is charged *before* any I/O, and
then the binds go to the store. Each reply is taken for what it says: *ok* and "already bound to
us" are success; *conflict* and *refused* give the claim back; *unknown* keeps it until the object
has been read. A new binder after a crash treats every assumed pod as unknown.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.api.kinds import POD
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.control.binder.conflicts import Judge
from stretto.state.claims import ConflictCause, Plan, Verdict
from stretto.state.classes import GPU_DEVICES
from stretto.state.cluster import Cluster
from stretto.state.devices import mask_to_text
from stretto.state.lifecycle import PodEvent, PodState, step_pods
from stretto.state.pods import NO_SLOT
from stretto.state.units import Unit, Units
from stretto.stores.store import Bind, Code, Outcome, Reply, Store

READ_BACK_AFTER: Final = 1.0
"""Seconds between looks at a pod whose bind went unanswered."""

Refusals = list[tuple[Unit, tuple[int, ...], ConflictCause]]
"""Units with rows that were not granted, and why."""


class InDoubt(NamedTuple):
    """A claim whose bind has not been answered."""

    #: Serial of the pod.
    serial: int
    #: Clock time at which to read it back.
    look_at: float


class Binder:
    """Judges plans, charges claims and binds pods."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        store: Store,
        judge: Judge,
        failpoint: Failpoint = no_failpoint,
    ) -> None:
        """A binder that takes over whatever is assumed in the cluster now."""
        #: Claims whose bind has not been answered, by row.
        self.in_doubt: dict[int, InDoubt] = {}
        #: What became of claims so far: ``granted``, ``bound`` and the causes of refusals.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._store = store
        self._judge = judge
        self._failpoint = failpoint
        self._adopt()

    def commit(self, plan: Plan, now: float) -> Verdict:
        """Grant what holds and bind it; every claim of the plan is answered or in doubt."""
        judgement = self._judge.judge(plan)
        rows = plan.rows[judgement.granted]
        refused: Refusals = [(u.unit, bad, cause) for u, bad, cause in judgement.refused]
        for _, bad, cause in refused:
            self.counts[cause.value] += len(bad)
        if len(rows):
            step_pods(self._cluster.pods.state, rows, PodEvent.ASSUME)
            self.counts["granted"] += len(rows)
            self._failpoint("binder.charged")
            refused.extend(self._bind(rows.tolist(), now))
        return Verdict(plan.shard, rows, refused)

    def settle_doubts(self, now: float) -> Refusals:
        """Read back what went unanswered: done, gone, or bound again to the same node."""
        due = [row for row, doubt in self.in_doubt.items() if doubt.look_at <= now]
        pods = self._cluster.pods
        again: list[int] = []
        refused: Refusals = []
        for row in due:
            doubt = self.in_doubt.pop(row)
            if pods.serial[row] != doubt.serial or pods.state[row] != PodState.ASSUMED:
                continue
            record = self._store.get(POD, pods.namespace[row], pods.name[row])
            if record is None or record.uid != pods.uid[row]:
                refused.extend(self._release(row, ConflictCause.POD_GONE))
            elif record.node and record.node != self._cluster.node_of(row):
                refused.extend(self._release(row, ConflictCause.STORE_CONFLICT))
            elif not record.node and pods.slot[row] == NO_SLOT:
                refused.extend(self._release(row, ConflictCause.NODE_GONE))
            elif not record.node:
                again.append(row)
        if again:
            refused.extend(self._bind(again, now))
        return refused

    def next_due(self) -> float:
        """Clock time of the next read-back; infinity when nothing is in doubt."""
        return min((doubt.look_at for doubt in self.in_doubt.values()), default=float("inf"))

    def _adopt(self) -> None:
        """After a crash nobody knows which binds were sent: all that is assumed is in doubt."""
        pods = self._cluster.pods
        for row in np.flatnonzero(pods.state[: pods.length] == PodState.ASSUMED).tolist():
            self.in_doubt[row] = InDoubt(int(pods.serial[row]), 0.0)

    def _bind(self, rows: Sequence[int], now: float) -> Refusals:
        """Send the binds of charged claims and take the replies for what they say."""
        binds = self._binds(rows)
        self._failpoint("binder.before-write")
        replies = self._store.bind(binds)
        self._failpoint("binder.after-write")
        refused: Refusals = []
        bound = 0
        for row, reply in zip(rows, replies, strict=True):
            if reply.outcome is Outcome.OK:
                bound += 1
            elif reply.outcome is Outcome.UNKNOWN:
                serial = int(self._cluster.pods.serial[row])
                self.in_doubt[row] = InDoubt(serial, now + (reply.retry_after or READ_BACK_AFTER))
                self.counts["unknown"] += 1
            else:
                refused.extend(self._release(row, _cause(reply)))
        self.counts["bound"] += bound
        return refused

    def _binds(self, rows: Sequence[int]) -> list[Bind]:
        pods, names = self._cluster.pods, self._cluster.nodes.names
        spaces, texts, uids = pods.namespace, pods.name, pods.uid
        index = np.asarray(rows, np.int64)
        slots = pods.slot[index].tolist()
        masks = pods.devices[index].tolist()
        return [
            Bind(
                spaces[row],
                texts[row],
                uids[row],
                names[slot],
                {GPU_DEVICES: mask_to_text(mask)} if mask else None,
            )
            for row, slot, mask in zip(rows, slots, masks, strict=True)
        ]

    def _release(self, row: int, cause: ConflictCause) -> Refusals:
        """Give one claim back after the store has said no."""
        cluster = self._cluster
        cluster.refund(row)
        step_pods(cluster.pods.state, np.array([row], np.int64), PodEvent.REJECT)
        self.counts[cause.value] += 1
        unit = self._units.of_row(row)
        return [(unit, (row,), cause)] if unit is not None else []


def _cause(reply: Reply) -> ConflictCause:
    """Why a store said no, in the words of verdicts."""
    if reply.code is Code.NOT_FOUND:
        return ConflictCause.POD_GONE
    if reply.outcome is Outcome.CONFLICT:
        return ConflictCause.STORE_CONFLICT
    return ConflictCause.STORE_REFUSED
