"""A parity snapshot that follows a cluster and reads only changes.

Objects and nodes follow the object log of the cluster, pods follow the log of the ledger: on every
changed slot, the pods of the rows replace those of the snapshot. The snapshot is therefore correct
after any change (an observed bind, an accepted or rejected claim, a finished pod, new labels). It
first reverts its own assumptions; the cluster contains the confirmed ones.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from stretto.api.types.core import Node
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.volume_binder.volumes import VolumeDecision
from stretto.state.cluster.cluster import Cluster
from stretto.state.objects import Identity, identity_of
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import SnapshotBasis

Residents = dict[int, SchedulingFacts]
"""Pods on one node by row."""


class NominatedPod(NamedTuple):
    """A pod with a nominated node."""

    #: The slot.
    slot: int
    #: The node.
    node: str
    #: The pod.
    facts: SchedulingFacts
    #: True if the pod counts as running for all nodes, not only for its own node.
    is_there: bool = False


class ClusterFollower:
    """A parity scheduler whose snapshot follows a cluster."""

    def __init__(self, cluster: Cluster, fact_cache: PodFactsCache) -> None:
        """Start empty; the first ``sync`` reads everything."""
        #: The snapshot.
        self.snapshot = ParitySnapshot()
        #: Scheduler that decides on this snapshot.
        self.scheduler = ExactScheduler(self.snapshot)
        #: Versions of the cluster that the snapshot reflects.
        self.basis = SnapshotBasis(-1, -1)
        self._cluster = cluster
        self._fact_cache = fact_cache
        self._objects_at = -1
        self._residents: dict[int, Residents] = {}
        self._nominees: dict[int, NominatedPod] = {}
        self._promised: list[NominatedPod] = []
        self._assumed: set[Identity] = set()
        #: Slots with assumed pods, whose plan may be rejected or still in flight.
        self._guessed: set[int] = set()

    def sync(self) -> bool:
        """Update the snapshot; return whether anything has changed."""
        self.withdraw_promise(0)
        before = self.basis
        self._follow_objects()
        changed = self._follow_pods()
        self.basis = self._cluster.basis
        return changed or self.basis != before

    def assume(self, decision: Decision, row: int, slot: int) -> VolumeDecision:
        """Count a decided pod and its volumes on a node until the next ``sync``."""
        found = self.scheduler.assume(decision, self._cluster.nodes.names[slot])
        self._assumed.update(identity_of(volume) for volume, _ in found.taken)
        self._assumed.update(identity_of(claim) for claim in found.made)
        self._residents.setdefault(slot, {})[row] = decision.pod
        self._guessed.add(slot)
        return found

    def forget(self, row: int, slot: int, found: VolumeDecision) -> None:
        """Revert an ``assume``; call it in reverse order."""
        self.snapshot.leave(self._residents[slot].pop(row))
        for volume, _ in found.taken:
            self.snapshot.objects.put(volume)
        for claim in found.made:
            self.snapshot.objects.put(claim)

    def promise(self, row: int, slot: int, *, is_there: bool = False) -> None:
        """Reserve a node for a pod until the next ``sync``."""
        facts = self._fact_cache.facts(row)
        nominee = NominatedPod(slot, self._cluster.nodes.names[slot], facts, is_there)
        count = self.snapshot.assume if is_there else self.snapshot.nominate
        count(nominee.facts, nominee.node)
        self._promised.append(nominee)

    @property
    def promises(self) -> int:
        """Number of promises."""
        return len(self._promised)

    def withdraw_promise(self, left: int) -> None:
        """Withdraw the latest promises until this number remains."""
        while len(self._promised) > left:
            nominee = self._promised.pop()
            if nominee.is_there:
                self.snapshot.leave(nominee.facts)
            else:
                self.snapshot.unnominate(nominee.facts, nominee.node)

    @contextmanager
    def without(self, rows: Iterable[int]) -> Iterator[None]:
        """Context manager: the snapshot without some pods, running or nominated."""
        slots, index = self._cluster.pods.slot, self.snapshot.nodes.index
        gone: list[tuple[SchedulingFacts, str, tuple[SchedulingFacts, ...] | None]] = []
        for row in rows:
            nominee = self._nominees.get(row)
            if nominee is not None:
                self.snapshot.unnominate(nominee.facts, nominee.node)
            facts = self._residents.get(int(slots[row]), {}).get(row)
            if facts is not None:
                name = self._cluster.nodes.names[slots[row]]
                gone.append((facts, name, tuple(self.snapshot.pods_on[index[name]])))
                self.snapshot.leave(facts)
            if nominee is not None:
                gone.append((nominee.facts, nominee.node, None))
        try:
            yield
        finally:
            for facts, name, order in reversed(gone):
                if order is None:
                    self.snapshot.nominate(facts, name)
                else:
                    self.snapshot.assume(facts, name)
                    self.snapshot.reorder(name, order)

    def _follow_objects(self) -> None:
        """Read objects and nodes that changed or were assumed to change."""
        truth = self._cluster.objects
        changed = truth.changes_since(self._objects_at) if self._objects_at >= 0 else None
        if changed is None:
            changed = list({**truth.everything(), **self.snapshot.objects.everything()})
            changed += [(Node.__name__, "", name) for name in self.snapshot.nodes.names]
        self._objects_at = truth.head
        gone: list[str] = []
        came: list[Node] = []
        for identity in dict.fromkeys((*changed, *sorted(self._assumed))):
            item = truth.find(identity)
            if identity[0] == Node.__name__:
                if isinstance(item, Node):
                    came.append(item)
                else:
                    gone.append(identity[2])
            elif item is None:
                self.snapshot.objects.drop(identity)
            elif self.snapshot.objects.find(identity) is not item:
                self.snapshot.objects.put(item)
        self._assumed.clear()
        self.snapshot.remove_nodes(gone)
        if came:
            self.snapshot.put_nodes(came)

    def _follow_pods(self) -> bool:
        """Read the pods of changed slots; return whether there were any."""
        cluster, ledger = self._cluster, self._cluster.ledger
        position = self.basis.ledger
        changed = ledger.changes_since(position) if position >= 0 else None
        states = cluster.pods.state
        risen = [e.slot for row, e in self._nominees.items() if states[row] != PodState.NOMINATED]
        mask = np.full(ledger.slots.size, changed is None, np.bool_)
        mask[[*risen, *(slot for slot in self._guessed if slot < len(mask))]] = True
        self._guessed.clear()
        if changed is not None:
            mask[changed] = True
        if not mask.any():
            return False
        here = cluster.pods.slot[: cluster.pods.length]
        rows = np.flatnonzero(here >= 0)
        rows = rows[mask[here[rows]]]
        wanted: dict[int, Residents] = {slot: {} for slot in np.flatnonzero(mask).tolist()}
        for row in [row for row, each in self._nominees.items() if mask[each.slot]]:
            each = self._nominees.pop(row)
            self.snapshot.unnominate(each.facts, each.node)
        for row, slot in zip(rows.tolist(), here[rows].tolist(), strict=True):
            if states[row] == PodState.NOMINATED:
                nominee = NominatedPod(slot, cluster.nodes.names[slot], self._fact_cache.facts(row))
                self._nominees[row] = nominee
                self.snapshot.nominate(nominee.facts, nominee.node)
            else:
                wanted[slot][row] = self._fact_cache.facts(row)
        self._replace(wanted)
        return True

    def _replace(self, wanted: dict[int, Residents]) -> None:
        """Replace the pods of some slots."""
        coming: list[tuple[SchedulingFacts, str]] = []
        names, index = self._cluster.nodes.names, self.snapshot.nodes.index
        for slot, residents in wanted.items():
            before = self._residents.pop(slot, {})
            name = names[slot] if slot < len(names) else ""
            for row, facts in before.items():
                if residents.get(row) is not facts:
                    self.snapshot.leave(facts)
            if name in index and residents:
                self._residents[slot] = residents
                position = index[name]
                for row, facts in residents.items():
                    stays = before.get(row) is facts
                    if not (stays and self.snapshot.node_of.get(facts.key) == position):
                        coming.append((facts, name))
        for facts, name in coming:
            self.snapshot.assume(facts, name)
