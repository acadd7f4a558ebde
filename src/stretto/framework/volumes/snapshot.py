"""The part of a cluster that volume rules read: node labels, pods with volumes, PVCs and volumes.

It is an exact snapshot with only the pods that have volumes, so that kube-scheduler's volume
plugins can evaluate a pod of any profile. The first such pod creates it; it then follows the
cluster through its logs: nodes by slot, pods by row, objects by their own log.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from stretto.api import codec
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod, PodSpec
from stretto.api.types.volumes import Volume
from stretto.api.wire.meta import ObjectMeta, Wire
from stretto.framework.model.cached_facts import PodFactsCache
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.volume_binder.volumes import VolumeDecision
from stretto.state.cluster.cluster import Cluster
from stretto.state.objects import Identity, identity_of
from stretto.state.rows.pods import NO_SLOT


class _VolumeSpec(Wire, frozen=True):
    """The part of a pod's spec that volume rules read."""

    #: Volumes.
    volumes: tuple[Volume, ...] = ()


class _VolumePod(Wire, frozen=True):
    """The part of a pod that volume rules read."""

    #: Identity.
    metadata: ObjectMeta = ObjectMeta()
    #: Volumes of the pod.
    spec: _VolumeSpec = _VolumeSpec()


class _VolumeFactsCache(PodFactsCache):
    """Pods by row with their volumes alone: resources and terms are read by class."""

    def _read_body(self, body: bytes) -> Pod:
        """The pod of a manifest."""
        found = codec.decode_as(_VolumePod, body, "pod")
        return Pod(found.metadata, PodSpec(volumes=found.spec.volumes))

    def _placeholder(self, row: int) -> Pod:
        """A pod without volumes."""
        return Pod(ObjectMeta(), PodSpec())


class _PositionSnapshot(ParitySnapshot):
    """Pods by node, without their requests."""

    def _count_amounts(self, pod: SchedulingFacts, node: int, by: int) -> None:
        """Ignore resources, ports and terms: volume rules do not read them."""


class VolumeSnapshot:
    """A snapshot of nodes, volumes and the pods with volumes."""

    def __init__(self, cluster: Cluster) -> None:
        """Follow a cluster, from the first evaluation on."""
        #: The objects that the plugins read.
        self.snapshot: ParitySnapshot = _PositionSnapshot()
        self._cluster = cluster
        self._fact_cache: PodFactsCache = _VolumeFactsCache(cluster)
        self._began = False
        self._stale: set[int] = set()
        self._objects_at = -1
        self._rows_at = -1
        self._homes: dict[int, tuple[SchedulingFacts, str]] = {}
        self._assumed: set[Identity] = set()
        self._touched: set[int] = set()
        self._slots: npt.NDArray[np.int64] | None = None
        cluster.node_updates.listeners.append(self._note_nodes)

    def facts(self, row: int) -> SchedulingFacts:
        """A pod in the form that the plugins read."""
        return self._fact_cache.facts(row)

    def fault(self, row: int) -> str:
        """Error of a pod that cannot be decoded; empty if it can."""
        return self._fact_cache.fault(row)

    def readable(self, row: int) -> SchedulingFacts | None:
        """Return a pod in the form that the plugins read, or ``None`` if it cannot be decoded."""
        facts, fault = self._fact_cache.entry(row)
        return None if fault else facts

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """int64[n]: slot of each node of the snapshot."""
        if self._slots is None:
            by_name = self._cluster.nodes.by_name
            self._slots = np.array([by_name[n] for n in self.snapshot.nodes.names], np.int64)
        return self._slots

    def position(self, slot: int) -> int | None:
        """The position of the node of a slot in the snapshot."""
        names = self._cluster.nodes.names
        return self.snapshot.nodes.index.get(names[slot]) if slot < len(names) else None

    def sync(self) -> None:
        """Update the snapshot; local assumptions are compared with the cluster again."""
        self._follow_nodes()
        self._follow_objects()
        self._follow_pods()

    def assume(self, row: int, slot: int, found: VolumeDecision) -> None:
        """Count a placed pod and its volumes until the next ``sync``."""
        objects, name = self.snapshot.objects, self._cluster.nodes.names[slot]
        for volume, pvc in found.taken:
            objects.take(volume, pvc)
            self._assumed.update((identity_of(volume), identity_of(pvc)))
        for pvc in found.made:
            objects.select_node(pvc, name)
            self._assumed.add(identity_of(pvc))
        self._move(row, name)
        self._touched.add(row)

    def forget(self, row: int, found: VolumeDecision) -> None:
        """Revert an ``assume``; call it in reverse order."""
        for volume, pvc in found.taken:
            self.snapshot.objects.put(volume)
            self.snapshot.objects.put(pvc)
        for pvc in found.made:
            self.snapshot.objects.put(pvc)
        self._move(row, "")

    @contextmanager
    def without(self, rows: Iterable[int]) -> Iterator[None]:
        """Context manager that excludes some pods from the snapshot."""
        before = {row: self._homes[row][1] for row in rows if row in self._homes}
        for row in before:
            self._move(row, "")
        try:
            yield
        finally:
            for row, name in before.items():
                self._move(row, name)

    def show(self, row: int, slot: int) -> None:
        """Place a pod on a slot, or on none (``NO_SLOT``), until the next ``sync``."""
        self._move(row, "" if slot == NO_SLOT else self._cluster.nodes.names[slot])
        self._touched.add(row)

    def at(self, row: int, slot: int) -> SchedulingFacts | None:
        """Return a pod as placed on a slot; ``None`` if it is not there."""
        facts, name = self._homes.get(row, (None, ""))
        return facts if name == self._cluster.nodes.names[slot] else None

    # ------------------------------------------------------------ following

    def _note_nodes(self, slots: npt.NDArray[np.int64]) -> None:
        if self._began:
            self._stale.update(slots.tolist())

    def _follow_nodes(self) -> None:
        nodes = self._cluster.nodes
        if not self._began:
            self._began = True
            self._stale.update(nodes.live_slots().tolist())
        if not self._stale:
            return
        live = {nodes.names[s]: s for s in self._stale if s < nodes.size and nodes.live[s]}
        known = self.snapshot.nodes.index
        gone = [name for name in known if name not in nodes.by_name]
        self._homes = {r: home for r, home in self._homes.items() if home[1] not in set(gone)}
        self.snapshot.remove_nodes(gone)
        self.snapshot.put_nodes(
            Node(ObjectMeta(name=name, labels=nodes.labels.of(slot))) for name, slot in live.items()
        )
        if gone or any(name not in known for name in live):
            self._rows_at = -1
        self._stale.clear()
        self._slots = None

    def _follow_objects(self) -> None:
        truth, mine = self._cluster.objects, self.snapshot.objects
        changed = truth.changes_since(self._objects_at) if self._objects_at >= 0 else None
        if changed is None:
            changed = list({**truth.everything(), **mine.everything()})
        self._objects_at = truth.head
        for identity in dict.fromkeys((*changed, *sorted(self._assumed))):
            if identity[0] == Node.__name__:
                continue
            item = truth.find(identity)
            if item is None:
                mine.drop(identity)
            elif mine.find(identity) is not item:
                mine.put(item)
        self._assumed.clear()

    def _follow_pods(self) -> None:
        pods = self._cluster.pods
        changed = pods.log.since(self._rows_at) if self._rows_at >= 0 else None
        self._rows_at = pods.log.head
        if changed is None:
            rows: Iterable[int] = [*np.flatnonzero(pods.volumes[: pods.length]), *self._homes]
        else:
            rows = [r for r in changed.tolist() if pods.volumes[r] or r in self._homes]
        touched, self._touched = self._touched, set()
        names = self._cluster.nodes.names
        for row in {int(each) for each in (*rows, *touched)}:
            slot = int(pods.slot[row]) if pods.volumes[row] else NO_SLOT
            self._move(row, names[slot] if slot != NO_SLOT else "")

    def _move(self, row: int, name: str) -> None:
        """Put a pod on a node; an empty name removes it."""
        before = self._homes.pop(row, None)
        facts = self._fact_cache.facts(row) if name in self.snapshot.nodes.index else None
        if before is not None and (facts is not before[0] or name != before[1]):
            self.snapshot.leave(before[0])
            before = None
        if facts is not None:
            if before is None:
                self.snapshot.assume(facts, name)
            self._homes[row] = facts, name
