"""Changes of pods with a row: relabelled, resized, bound elsewhere, finished or deleted."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from stretto.api.types.heads import ENDED, PodHead, decode_pod_head
from stretto.base.errors import InputError
from stretto.state.classes.resizing import reported_resources
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import charge_seen_pod, device_mask, micro_topology
from stretto.state.ingest.priorities import record_eviction_state, record_preemption_attributes
from stretto.state.ingest.templates import key_of
from stretto.state.rows.lifecycle import POD_LIFE, PodEvent, PodState
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.changes import PodArrival, PodDeparture
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

_BOUND: Final = int(PodState.BOUND)


class KnownPods:
    """Applies changes of pods that have rows, one by one."""

    def __init__(self, cluster: Cluster) -> None:
        """Apply changes to one cluster."""
        self._cluster = cluster

    def apply(self, event: WatchEvent, row: int, now: float) -> None:
        """Apply an event of a pod to its row."""
        record, cluster = event.record, self._cluster
        pods = cluster.pods
        if record.version <= pods.version[row] and event.type is not EventType.DELETED:
            return
        pods.version[row] = record.version
        if record.version in cluster.own_writes:
            cluster.own_writes.discard(record.version)
            return
        cluster.abnormal.pop(key_of(record), None)
        if event.type is EventType.DELETED:
            self.end(row)
            return
        try:
            head = event.head if event.head is not None else decode_pod_head(record.body)
        except InputError as error:
            cluster.abnormal[key_of(record)] = str(error)
            return
        if head.status.phase in ENDED:
            self.end(row)
            return
        self._change(row, record, head, now)

    def reread(self, records: Iterable[Record], now: float) -> None:
        """Read pending pods again because their classes now include more fields."""
        pods = self._cluster.pods
        for record in records:
            row = pods.row(record.uid)
            if row is not None and pods.slot[row] == NO_SLOT and not record.node:
                self._change(row, record, decode_pod_head(record.body), now)

    def end(self, row: int) -> None:
        """Remove a pod: release its resources and its row."""
        cluster, pods = self._cluster, self._cluster.pods
        serial, ours = int(pods.serial[row]), cluster.evictions.is_ours(row)
        cluster.charges.refund_ended(row, ours=ours)
        cluster.changes.departures.append(PodDeparture(row, serial, pods.uid[row], ours))
        cluster.classes.release(int(pods.class_id[row]))
        cluster.preemption_attributes.release(int(pods.preemption_attributes[row]))
        cluster.domains.end(row)
        pods.remove(row)
        pods.log.add(row)

    def _change(self, row: int, record: Record, head: PodHead, now: float) -> None:
        """Apply a change of a known pod that is still relevant."""
        cluster, pods = self._cluster, self._cluster.pods
        node = record.node or head.spec.node_name
        self._change_class(row, record, head)
        record_preemption_attributes(cluster, row, head)
        if node:
            if pods.state[row] != _BOUND:
                pods.started[row] = now
            annotation = micro_topology(record, head)
            self._node_seen(row, node, device_mask(record, head), annotation)
            record_eviction_state(cluster, row, record, head)
            return
        state = PodState(int(pods.state[row]))
        if state in (PodState.ASSUMED, PodState.BOUND):
            return
        if record.deleting:
            self.end(row)
            return
        if state is PodState.NOMINATED:
            return
        gated = head.spec.is_gated
        if state is PodState.GATED and not gated:
            pods.state[row] = POD_LIFE.next(state, PodEvent.UNGATE)
        cluster.changes.regrouped.append(PodArrival(row, head.metadata, gated, record.uid))
        cluster.changes.add_cures(Cure.POD_CHANGED)

    def _change_class(self, row: int, record: Record, head: PodHead) -> None:
        """Re-intern a changed spec, labels or reported resources, and move the charge."""
        cluster, pods = self._cluster, self._cluster.pods
        try:
            reported = reported_resources(record, head)
            class_id = cluster.classes.intern(head, record.body, reported)
            tag = cluster.domains.tags.intern_head(record.namespace, head)
        except InputError as error:
            cluster.abnormal[key_of(record)] = str(error)
            return
        old = int(pods.class_id[row])
        same = cluster.classes.is_of(old, class_id)
        if same and tag == pods.tag[row]:
            return
        slot, mask = int(pods.slot[row]), int(pods.devices[row])
        if slot != NO_SLOT and not same:
            cluster.charges.refund(row)
        cluster.domains.retag(row, tag)
        cluster.classes.use(class_id)
        pods.class_id[row] = class_id
        cluster.classes.release(old)
        cluster.domains.assign_populations(np.array([row]))
        pods.log.add(row)
        if slot != NO_SLOT and same:
            cluster.changes.add_cures(Cure.POD_LABELS)
        elif slot != NO_SLOT:
            cluster.charges.charge(row, slot, mask)
            cluster.changes.resized.append(row)

    def _node_seen(self, row: int, node: str, mask: int, annotation: str = "") -> None:
        """Apply a bind from the store: the store overrides the local assumption."""
        cluster, pods = self._cluster, self._cluster.pods
        slot = cluster.nodes.by_name.get(node)
        if pods.slot[row] != (NO_SLOT if slot is None else slot) or slot is None:
            cluster.charges.refund(row)
            if slot is None:
                pods.devices[row] = mask
                cluster.charges.charge_unplaced([row], node)
            else:
                charge_seen_pod(cluster, row, slot, mask, annotation)
                cluster.evictions.follow(row)
        state = PodState(int(pods.state[row]))
        if state is not PodState.BOUND:
            pods.state[row] = POD_LIFE.next(state, PodEvent.BIND)
            pods.log.add(row)
            cluster.changes.add_bound((row,))
