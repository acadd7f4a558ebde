"""``status.nominatedNodeName`` of pods: written while a claim waits, removed once it is void.

One batch is in flight at a time, so that a removal never overtakes an earlier write of the name.
Each batch is computed when it is sent. A patch whose answer is lost or temporary is sent again; a
final refusal is not, because the pod is gone.

A crashed predecessor leaves names without claims. They are removed a few at a time, after their
pods had time to get a claim. Pods with a claim get the name of their new node.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from stretto.api.wire.kinds import POD
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.nominations import Nomination
from stretto.stores.lane import Lane, LaneLimits
from stretto.stores.store import Patch, Reply, StatusReason, Store, Write, WriteVerb, is_temporary

RETRY_AFTER: Final = 1.0
"""Seconds before a patch without a final answer is sent again."""
INHERITED_AFTER: Final = 5.0
"""Seconds for which pods with a predecessor's name may get a claim before the name is removed."""
INHERITED_AT_ONCE: Final = 32
"""Number of such names processed together, so that new names do not wait long behind them."""
LANE: Final = LaneLimits(window=1)
"""One batch in flight: the next is sent once the last is answered."""


class _NominatedName(NamedTuple):
    """Desired nominated node of a pod: the node of its claim, or none."""

    #: Row of the pod.
    row: int
    #: Serial of the pod.
    serial: int
    #: True if the pod may already have a name.
    was_written: bool


class NominatedNodeWriter:
    """Writes ``nominatedNodeName`` for claims that wait."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """Start with the waiting claims whose names are not written, such as a predecessor's."""
        self._cluster = cluster
        #: Pending writes, by row.
        self._lane: Lane[int, _NominatedName] = Lane(store, LANE)
        #: Serials of pods that have a name and perhaps no claim any more, by row: their bind is in
        #: flight, or a predecessor wrote the name.
        self._doubtful: dict[int, int] = {}
        self._not_before = float("-inf")
        self._inherit_at = float("inf")
        for nomination in cluster.nominations.waiting():
            if not nomination.node_written:
                self.add(nomination)

    def add(self, nomination: Nomination) -> None:
        """Record claims that wait from now on."""
        for row, serial in zip(nomination.rows, nomination.serials, strict=True):
            self._note(_NominatedName(row, serial, was_written=False))

    def claims_bound(self, nomination: Nomination) -> None:
        """Record claims whose bind is in flight: if it fails, the name is removed."""
        if nomination.node_written:
            self._doubtful.update(zip(nomination.rows, nomination.serials, strict=True))

    def withdraw(self, rows: Iterable[int]) -> None:
        """Record pods that have a name and no claim any more."""
        for row in rows:
            serial = int(self._cluster.pods.serial[row])
            self._note(_NominatedName(row, serial, was_written=True))

    def tell(self, now: float) -> None:
        """Write names on pods that still wait, and remove those whose claim is void.

        Raises:
            StrettoError: the store is unavailable.
        """
        self._collect(now)
        self._process_inherited(now)
        self._process_doubtful()
        if self._lane.unanswered or not self._lane.queue or now < self._not_before:
            return
        sent, patches = list[_NominatedName](), list[Patch]()
        for row, entry in list(self._lane.due(now)):
            self._lane.withdraw(row)
            patch = self._patch(entry)
            if patch is not None:
                sent.append(entry._replace(was_written=True))
                patches.append(patch)
        if patches:
            self._lane.send(Write(WriteVerb.PATCH_STATUS, POD, patches), sent)
            self._collect(now)

    def next_due(self) -> float:
        """Clock time at which a name must be written or checked; infinity if there is none."""
        waits = self._lane.queue and not self._lane.unanswered
        return min(self._inherit_at, self._not_before if waits else float("inf"))

    def _note(self, entry: _NominatedName) -> None:
        """Queue an entry; if the pod may already have a name, the entry keeps that mark."""
        before = self._lane.queued(entry.row)
        if before is None or before.serial != entry.serial or not before.was_written:
            before = entry
        self._lane.put(entry.row, before)

    def _patch(self, entry: _NominatedName) -> Patch | None:
        """Patch for a pod now; ``None`` if nothing must be written."""
        pods, nodes, row = self._cluster.pods, self._cluster.nodes, entry.row
        if pods.serial[row] != entry.serial:
            return None
        nomination = self._cluster.nominations.by_row.get(row)
        node = None
        if nomination is not None and pods.slot[row] != NO_SLOT:
            nomination.node_written = True
            node = nodes.names[int(pods.slot[row])]
        elif not entry.was_written:
            return None
        status = {"status": {"nominatedNodeName": node}}
        return Patch(pods.namespace[row], pods.name[row], status, uid=pods.uid[row])

    def _collect(self, now: float) -> None:
        """Process the answers to the batch in flight; requeue writes that may succeed later."""
        if not self._lane.unanswered:
            return
        for batch in self._lane.answers():
            for entry, reply in zip(batch.entries, batch.replies, strict=True):
                row = entry.row
                if _is_open(reply) and self._cluster.pods.serial[row] == entry.serial:
                    self._lane.put(row, entry)  # a newer entry exists for the same pod
                    self._not_before = now + max(reply.retry_after or 0.0, RETRY_AFTER)

    def _process_inherited(self, now: float) -> None:
        """Process some of a predecessor's names once their pods had time to get a claim."""
        left = self._cluster.nominations.inherited
        if not left:
            self._inherit_at = float("inf")
        elif self._inherit_at == float("inf"):
            self._inherit_at = now + INHERITED_AFTER
        elif now >= self._inherit_at:
            for row in list(islice(left, INHERITED_AT_ONCE)):
                self._doubtful[row] = left.pop(row)
            self._inherit_at = now + RETRY_AFTER if left else float("inf")

    def _process_doubtful(self) -> None:
        """Remove the name from pods without a claim; drop those that have one, a node, or ended.

        Pods whose bind is under way are checked again.
        """
        if not self._doubtful:
            return
        pods, count = self._cluster.pods, len(self._doubtful)
        rows = np.fromiter(self._doubtful, np.int64, count)
        same = pods.serial[rows] == np.fromiter(self._doubtful.values(), np.int64, count)
        binding = same & (pods.state[rows] == PodState.ASSUMED)
        for row in rows[~binding].tolist():
            serial = self._doubtful.pop(row)
            if pods.serial[row] == serial and pods.slot[row] == NO_SLOT:
                self.withdraw([row])


def _is_open(reply: Reply) -> bool:
    """Return whether it remains unknown which name the pod has."""
    return is_temporary(reply) or reply.code is StatusReason.TOO_MANY_REQUESTS
