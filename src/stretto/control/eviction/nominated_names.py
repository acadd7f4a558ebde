"""Nominated nodes: written on pods whose claims wait, and taken off where the claims are void.

One batch is under way at a time, where the store can send without waiting: what is taken back
never overtakes what was given, and each batch says what holds when it is sent. A word whose answer
is lost, or that the store has no time for, is told again; what was refused for good is not, because
a pod that has gone needs no word.

A predecessor that has crashed leaves names behind for which no claim is kept. They are taken off,
a few at a time, from pods that have no claim of ours after a while; the others have a word of ours.
"""

from collections.abc import Iterable
from concurrent.futures import Future
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from stretto.api.wire.kinds import POD
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.evictions import Nomination
from stretto.stores.store import (
    BeginPatches,
    Patch,
    Replies,
    Reply,
    StatusReason,
    Store,
    WriteOutcome,
)

TELL_AGAIN_AFTER: Final = 1.0
"""Seconds before a word is told again that the store did not take."""
INHERITED_AFTER: Final = 5.0
"""Seconds that pods with a predecessor's word have to get a claim before it is taken off."""
INHERITED_AT_ONCE: Final = 32
"""Such words that are looked at together, so that our own need not wait long behind them."""
_NOT_NOW: Final = frozenset(
    {
        StatusReason.UNAVAILABLE,
        StatusReason.INTERNAL,
        StatusReason.TIMEOUT,
        StatusReason.TOO_MANY_REQUESTS,
    }
)


class _NominatedName(NamedTuple):
    """What is to be told of a pod: the node of its claim, or that it has none."""

    #: Serial of the pod.
    serial: int
    #: Whether it may carry a node's name already.
    was_written: bool


class NominatedNodeWriter:
    """What others are told of claims that wait."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """One that tells of whatever waits untold, such as a predecessor's claims."""
        self._cluster = cluster
        self._store = store
        self._begin: BeginPatches | None = getattr(store, "begin_patch_status", None)
        #: What is to be told, by row.
        self._due: dict[int, _NominatedName] = {}
        #: Serials of pods that carry a node's name and perhaps have no claim any more, by row:
        #: they are being bound, or the name is a predecessor's.
        self._due_rows: dict[int, int] = {}
        self._way: Future[Replies] | None = None
        self._sent: dict[int, _NominatedName] = {}
        self._not_before = float("-inf")
        self._inherit_at = float("inf")
        for nomination in cluster.evictions.waiting():
            if not nomination.node_written:
                self.add(nomination)

    def add(self, nomination: Nomination) -> None:
        """Claims wait from now on."""
        for row, serial in zip(nomination.rows, nomination.serials, strict=True):
            self._note(row, _NominatedName(serial, was_written=False))

    def claims_bound(self, nomination: Nomination) -> None:
        """Claims wait no more, and are bound: their pods lose the node's name where that fails."""
        if nomination.node_written:
            self._due_rows.update(zip(nomination.rows, nomination.serials, strict=True))

    def withdraw(self, rows: Iterable[int]) -> None:
        """These pods have no claim any more, and were told that they had."""
        for row in rows:
            self._note(row, _NominatedName(int(self._cluster.pods.serial[row]), was_written=True))

    def tell(self, now: float) -> None:
        """Write the node on pods that still wait, and take it off those whose claim is void.

        Raises:
            StrettoError: the store could not be used at all.
        """
        self._collect_replies(now)
        self._process_inherited(now)
        self._process_due()
        if self._way is not None or not self._due or now < self._not_before:
            return
        due, self._due, self._sent = self._due, {}, {}
        patches = [patch for row, word in due.items() if (patch := self._told(row, word))]
        if not patches:
            return
        if self._begin is not None:
            self._way = self._begin(POD, patches)
        else:
            self._answered(self._store.patch_status(POD, patches), now)

    def next_due(self) -> float:
        """Clock time at which a word is told or looked at; infinity where none waits for that."""
        waits = bool(self._due) and self._way is None
        return min(self._inherit_at, self._not_before if waits else float("inf"))

    def _note(self, row: int, word: _NominatedName) -> None:
        """Have something told; who may carry a name already still does."""
        before = self._due.get(row)
        if before is not None and before.serial == word.serial and before.was_written:
            word = before
        self._due[row] = word

    def _told(self, row: int, word: _NominatedName) -> Patch | None:
        """What is written on a pod now; ``None`` where nothing need be."""
        pods, nodes = self._cluster.pods, self._cluster.nodes
        if pods.serial[row] != word.serial:
            return None
        nomination = self._cluster.evictions.nominations.get(row)
        node = None
        if nomination is not None and pods.slot[row] != NO_SLOT:
            nomination.node_written = True
            node = nodes.names[int(pods.slot[row])]
        elif not word.was_written:
            return None
        self._sent[row] = word._replace(was_written=True)
        status = {"status": {"nominatedNodeName": node}}
        return Patch(pods.namespace[row], pods.name[row], status, uid=pods.uid[row])

    def _collect_replies(self, now: float) -> None:
        """Take the answers to the batch under way, once they are there."""
        way = self._way
        if way is not None and way.done():
            self._way = None
            self._answered(way.result(), now)

    def _answered(self, replies: Replies, now: float) -> None:
        """Have told again what the store had no time for, or did not answer."""
        sent, self._sent = self._sent, {}
        for (row, word), reply in zip(sent.items(), replies, strict=True):
            if _is_for_now(reply) and self._cluster.pods.serial[row] == word.serial:
                self._due[row] = word  # what is noted meanwhile is about the same pod
                self._not_before = now + max(reply.retry_after or 0.0, TELL_AGAIN_AFTER)

    def _process_inherited(self, now: float) -> None:
        """Take up some of the names that a predecessor has left, once their pods had their time."""
        left = self._cluster.evictions.inherited
        if not left:
            self._inherit_at = float("inf")
        elif self._inherit_at == float("inf"):
            self._inherit_at = now + INHERITED_AFTER
        elif now >= self._inherit_at:
            for row in list(islice(left, INHERITED_AT_ONCE)):
                self._due_rows[row] = left.pop(row)
            self._inherit_at = now + TELL_AGAIN_AFTER if left else float("inf")

    def _process_due(self) -> None:
        """Take the node off pods that have no claim; forget those that have one, a node, or gone.

        Those whose bind is under way are looked at again.
        """
        if not self._due_rows:
            return
        pods, count = self._cluster.pods, len(self._due_rows)
        rows = np.fromiter(self._due_rows, np.int64, count)
        same = pods.serial[rows] == np.fromiter(self._due_rows.values(), np.int64, count)
        on_the_way = same & (pods.state[rows] == PodState.ASSUMED)
        for row in rows[~on_the_way].tolist():
            serial = self._due_rows.pop(row)
            if pods.serial[row] == serial and pods.slot[row] == NO_SLOT:
                self.withdraw([row])


def _is_for_now(reply: Reply) -> bool:
    """Whether an answer leaves open what is written on the pod now."""
    return reply.outcome is WriteOutcome.UNKNOWN or reply.code in _NOT_NOW
