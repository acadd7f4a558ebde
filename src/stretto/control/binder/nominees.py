"""Nominated nodes: written on pods whose claims wait, and taken off where the claims are void.

One batch is under way at a time, where the store can send without waiting: what is taken back
never overtakes what was given. Answers are not looked at: a pod that is bound meanwhile refuses
the word, and one that has gone needs none.
"""

from collections.abc import Iterable
from concurrent.futures import Future

from stretto.api.kinds import POD
from stretto.state.cluster import Cluster
from stretto.state.evictions import Nomination
from stretto.state.pods import NO_SLOT
from stretto.stores.store import BeginPatches, Patch, Replies, Store


class Nominees:
    """What others are told of claims that wait."""

    def __init__(self, cluster: Cluster, store: Store) -> None:
        """One that tells of whatever waits untold, such as a predecessor's claims."""
        self._cluster = cluster
        self._store = store
        self._begin: BeginPatches | None = getattr(store, "begin_patch_status", None)
        self._untold = [each for each in cluster.evictions.waiting() if not each.told]
        self._untell: list[int] = []
        self._way: Future[Replies] | None = None

    def add(self, nomination: Nomination) -> None:
        """Claims wait from now on."""
        self._untold.append(nomination)

    def withdraw(self, rows: Iterable[int]) -> None:
        """These pods have no claim any more, and were told that they had."""
        self._untell.extend(rows)

    def tell(self) -> None:
        """Write the node on pods that still wait, and take it off those whose claim is void."""
        if not (self._untold or self._untell) or (self._way is not None and not self._way.done()):
            return
        patches = self._given()
        taken, self._untell = self._untell, []
        patches.extend(self._status(row, None) for row in taken if self._cluster.pods.uid[row])
        if not patches:
            return
        if self._begin is not None:
            self._way = self._begin(POD, patches)
        else:
            self._store.patch_status(POD, patches)

    def _given(self) -> list[Patch]:
        pods, nodes = self._cluster.pods, self._cluster.nodes
        untold, self._untold = self._untold, []
        patches: list[Patch] = []
        for nomination in untold:
            if not self._cluster.evictions.waits(nomination):
                continue
            nomination.told = True
            patches.extend(
                self._status(row, nodes.names[int(pods.slot[row])])
                for row in nomination.rows
                if pods.slot[row] != NO_SLOT
            )
        return patches

    def _status(self, row: int, node: str | None) -> Patch:
        pods = self._cluster.pods
        status = {"status": {"nominatedNodeName": node}}
        return Patch(pods.namespace[row], pods.name[row], status, uid=pods.uid[row])
