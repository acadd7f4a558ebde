"""Reserves volumes, as kube-scheduler does between a decision and its bind.

If a pending PVC gets an existing volume, the volume is reserved for it (``claimRef``). If the
volume must be provisioned, the PVC gets the pod's node (``selected-node``). Both are assumed in the
cluster before they are written, so that the next decision sees them, and rolled back if the store
refuses. A write with a lost reply counts as refused: if it takes effect later, the volume is
reserved for the same PVC, which the pod requests again. The volume controller completes the
binding; if the store has one, the pod waits for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.types.storage import BIND_COMPLETED, BOUND_BY, SELECTED_NODE, PersistentVolumeClaim
from stretto.api.wire import kinds
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire
from stretto.base.errors import InputError
from stretto.state.classes.table import decode_spec
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.whole_objects import read_object
from stretto.state.objects import ClusterObjects, identity_of, meta_of, reference_to
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import ConflictCause, VolumeChoice
from stretto.stores.store import Patch, Reply, Store, WriteOutcome

LONGEST_WAIT: Final = 600.0
"""Default wait of a pod for its volumes in seconds, as in kube-scheduler."""

OptionalPvc = PersistentVolumeClaim | None
"""A PVC of a pod; ``None`` if it is unknown."""
LateVolumes = Callable[[int, int], VolumeChoice | None]
"""Maps (row, slot) to the volumes that the pod uses there."""


class VolumeWait(NamedTuple):
    """A claimed pod that waits for its volumes."""

    #: Serial of the pod.
    serial: int
    #: Clock time at which the wait fails, in seconds.
    until: float


class VolumeWrite(NamedTuple):
    """One object to change before a pod is bound."""

    #: Kind of the object.
    kind: Kind
    #: Object before the change.
    before: Wire
    #: Change, as a merge patch.
    change: Mapping[str, Any]


class VolumeReserver:
    """Reserves volumes and writes the reservations."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        late: LateVolumes | None = None,
        timeout: float = LONGEST_WAIT,
    ) -> None:
        """Use a cluster's objects and its store.

        Args:
            cluster: the cluster.
            store: the store of PVCs and PersistentVolumes.
            late: chooses volumes for a pod whose victims were evicted; ``None`` without volume
                rules.
            timeout: seconds for which a pod waits for its volumes.
        """
        #: True if pods wait until a volume controller has completed the binding of their PVCs.
        self.waits: bool = store.capabilities.completes_claims
        #: Seconds for which a pod waits for its volumes.
        self.timeout = timeout
        #: Chooses volumes for a pod whose victims were evicted; ``None`` without volume rules.
        self.late = late
        self._cluster = cluster
        self._store = store
        #: Pods that wait for their volumes, by row.
        self.waiting: dict[int, VolumeWait] = {}
        self._seen = -1

    def reserve(self, chosen: VolumeChoice, node: str) -> list[VolumeWrite]:
        """Assume the volumes of a pod on a node; returns the necessary writes."""
        objects = self._cluster.objects
        writes: list[VolumeWrite] = []
        for name, namespace, pvc_name in chosen.taken:
            volume, pvc = objects.volumes[name], objects.pvcs[namespace, pvc_name]
            reference = msgspec.to_builtins(reference_to(pvc))
            notes = {"annotations": {BOUND_BY: "yes"}}
            change = {"metadata": notes, "spec": {"claimRef": reference}}
            writes.append(VolumeWrite(kinds.PERSISTENT_VOLUME, volume, change))
            objects.take(volume, pvc)
        for key in chosen.made:
            pvc = objects.pvcs[key]
            if pvc.metadata.annotations.get(SELECTED_NODE) == node:
                continue
            note = {"metadata": {"annotations": {SELECTED_NODE: node}}}
            writes.append(VolumeWrite(kinds.PERSISTENT_VOLUME_CLAIM, pvc, note))
            objects.select_node(pvc, node)
        return writes

    def write(self, writes: list[VolumeWrite]) -> ConflictCause | None:
        """Send the changes; returns the cause for which the pod must not be bound, or ``None``.

        After a refusal, unwritten changes are rolled back and written ones stay.
        """
        for at, each in enumerate(writes):
            reply = self._store.patch(each.kind, [_patch_of(each)])[0]
            if reply.outcome is not WriteOutcome.OK:
                self.give_back(writes[at:])
                return _cause(reply)
            self._learn(each, reply)
        return None

    def write_all(self, wanted: Sequence[list[VolumeWrite]]) -> list[ConflictCause | None]:
        """``write`` for many pods; those with one write each share a call."""
        causes: list[ConflictCause | None] = [None] * len(wanted)
        together: dict[Kind, list[int]] = {}
        for i, writes in enumerate(wanted):
            if len(writes) == 1:
                together.setdefault(writes[0].kind, []).append(i)
            elif writes:
                causes[i] = self.write(writes)
        for kind, many in together.items():
            replies = self._store.patch(kind, [_patch_of(wanted[i][0]) for i in many])
            for i, reply in zip(many, replies, strict=True):
                if reply.outcome is WriteOutcome.OK:
                    self._learn(wanted[i][0], reply)
                else:
                    self.give_back(wanted[i])
                    causes[i] = _cause(reply)
        return causes

    def give_back(self, writes: list[VolumeWrite]) -> None:
        """Roll back assumptions, the last first."""
        for each in reversed(writes):
            self._cluster.objects.put(each.before)

    # ------------------------------------------------------------ PVCs that a controller completes

    def hold(self, rows: Iterable[int], now: float) -> list[int]:
        """Return the claimed pods whose volumes are bound; the other pods wait for them.

        If no pod uses volumes, nothing is checked.
        """
        if not self.waits or not self._cluster.records:
            return list(rows)
        ready, records, uids = [], self._cluster.records, self._cluster.pods.uid
        for row in rows:
            if uids[row] not in records or all(map(_is_bound, self._pvcs(row))):
                ready.append(row)
                self._cluster.objects.wait_timeouts.pop(row, None)
            else:
                serial = int(self._cluster.pods.serial[row])
                self.waiting.setdefault(row, VolumeWait(serial, now + self.timeout))
        return ready

    def settle(self, now: float) -> tuple[list[int], list[tuple[int, ConflictCause]]]:
        """Return the pods whose wait has ended: those with their volumes, and those that failed."""
        version = self._cluster.objects.version
        if not self.waiting or (self._seen == version and now < self.next_due()):
            return [], []
        self._seen = version
        pods = self._cluster.pods
        ready, lost = [], []
        for row, waiting in list(self.waiting.items()):
            if pods.serial[row] != waiting.serial or pods.state[row] != PodState.ASSUMED:
                del self.waiting[row]
                continue
            pvcs, node = self._pvcs(row), self._cluster.node_of(row)
            if all(map(_is_bound, pvcs)):
                ready.append(row)
            elif not all(self._is_promised(each, node) for each in pvcs):
                lost.append((row, ConflictCause.VOLUME_TAKEN))
            elif now >= waiting.until:
                self._cluster.objects.wait_timeouts[row] = (
                    waiting.serial,
                    self._wait_message(row, pvcs, node),
                )
                lost.append((row, ConflictCause.VOLUME_TIMED_OUT))
            else:
                continue
            del self.waiting[row]
        return ready, lost

    def next_due(self) -> float:
        """Clock time at which the next wait fails; infinity for none."""
        return min((each.until for each in self.waiting.values()), default=float("inf"))

    def _pvcs(self, row: int) -> list[OptionalPvc]:
        """The PVCs of a pod; ``None`` for an unknown one."""
        pods = self._cluster.pods
        record = self._cluster.records.get(pods.uid[row])
        if record is None:
            return []
        names = [
            each.persistent_volume_claim.claim_name
            if each.persistent_volume_claim is not None
            else f"{pods.name[row]}-{each.name}"
            for each in decode_spec(record.body).volumes
            if each.persistent_volume_claim is not None or each.ephemeral is not None
        ]
        return [self._cluster.objects.pvcs.get((pods.namespace[row], n)) for n in names]

    def _wait_message(self, row: int, pvcs: Iterable[OptionalPvc], node: str) -> str:
        """Describe the missing volumes of a pod and the command that shows more."""
        missing = [each for each in pvcs if each is not None and not _is_bound(each)]
        causes = "; ".join(self._lacks(each, node) for each in missing) or "a PVC was deleted"
        names = " ".join(each.metadata.name for each in missing)
        look = f"kubectl describe pvc {names} -n {self._cluster.pods.namespace[row]}"
        return f"waited {self.timeout:g} s for volumes on node {node}: {causes}; see {look}"

    def _lacks(self, pvc: PersistentVolumeClaim, node: str) -> str:
        """Describe why a PVC has no volume, as far as its objects show."""
        meta, name = pvc.metadata, pvc.spec.storage_class_name or ""
        found = self._cluster.objects.classes.get(name)
        if meta.annotations.get(SELECTED_NODE) == node and found is not None:
            return f"{found.provisioner} has not provisioned PVC {meta.name} (class {name})"
        return f"the volume reserved for PVC {meta.name} is not bound to it"

    def _is_promised(self, pvc: OptionalPvc, node: str) -> bool:
        """True if a PVC has a volume, has one reserved, or may get one provisioned on the node.

        A provisioner that cannot make a volume for a node removes the node from the PVC.
        """
        if pvc is None:
            return False
        meta = pvc.metadata
        if _is_bound(pvc) or meta.annotations.get(SELECTED_NODE) == node:
            return True
        return any(
            kept is not None and (kept.namespace, kept.name) == (meta.namespace, meta.name)
            for kept in (each.spec.claim_ref for each in self._cluster.objects.volumes.values())
        )

    def _learn(self, write: VolumeWrite, reply: Reply) -> None:
        """Read the stored object back, so that its own event counts as old.

        An embedded store changes only what was requested, so the assumed object is current; from an
        API server it is read.
        """
        record, objects = reply.record, self._cluster.objects
        if record is None:
            return
        assumed = objects.find(identity_of(write.before))
        if assumed is not None and not self.waits and meta_of(write.before).resource_version:
            meta = msgspec.structs.replace(meta_of(assumed), resource_version=str(record.version))
            objects.renew(msgspec.structs.replace(assumed, metadata=meta))
            return
        try:
            objects.put(read_object(write.kind, record))
        except InputError:
            return  # the watch delivers the object


def _patch_of(write: VolumeWrite) -> Patch:
    """Patch against the version of the object on which the decision is based."""
    meta = meta_of(write.before)
    version = int(meta.resource_version) if meta.resource_version else None
    return Patch(meta.namespace, meta.name, write.change, version, meta.uid)


def _is_bound(pvc: OptionalPvc) -> bool:
    """Return whether a PVC is bound."""
    return pvc is not None and BIND_COMPLETED in pvc.metadata.annotations


def _cause(reply: Reply) -> ConflictCause:
    """The conflict cause of a refused volume write."""
    if reply.outcome is WriteOutcome.CONFLICT:
        return ConflictCause.VOLUME_TAKEN
    return ConflictCause.STORE_REFUSED


def are_free(chosen: VolumeChoice, objects: ClusterObjects, node: str) -> bool:
    """Return whether volumes are still free for their PVCs, and PVCs are free to use the node."""
    for name, namespace, pvc in chosen.taken:
        volume, wanted = objects.volumes.get(name), objects.pvcs.get((namespace, pvc))
        if volume is None or wanted is None or wanted.spec.volume_name not in ("", name):
            return False
        kept = volume.spec.claim_ref
        if kept is not None and (kept.namespace, kept.name) != (namespace, pvc):
            return False
    for key in chosen.made:
        found = objects.pvcs.get(key)
        if found is None or found.spec.volume_name:
            return False
        if found.metadata.annotations.get(SELECTED_NODE, node) != node:
            return False
    return True
