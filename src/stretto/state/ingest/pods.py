"""Watch events into columns: what a batch of records means for the cluster.

Events come in order of versions and each is looked at once. A batch of new pods, and the echo of a
batch of our own binds, take the quick way: lists first, columns once. Everything else (a pod bound
by somebody else, changed, ended) is rare and goes one by one. An object that cannot be read is
noted in ``cluster.abnormal`` and fails alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.types.heads import PodHead, decode_pod_head
from stretto.base.arrays import WORTHWHILE
from stretto.base.errors import InputError
from stretto.state.classes.resizing import may_report_resources, reported_resources
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest import whole_objects
from stretto.state.ingest.node_reports import charge_seen_pod, device_mask, micro_topology
from stretto.state.ingest.nodes_and_groups import apply_groups, apply_nodes
from stretto.state.ingest.priorities import (
    PodPriorities,
    record_eviction_state,
    record_preemption_attributes,
)
from stretto.state.ingest.second_managers import NodeManagers
from stretto.state.ingest.templates import FINISHED, PodRegistration, key_of, may_be_finished
from stretto.state.ingest.volume_pods import VolumePods
from stretto.state.rows.lifecycle import POD_LIFE, PodEvent, PodState, step_pods
from stretto.state.rows.pods import NO_SLOT
from stretto.state.work.changes import PodArrival, PodDeparture
from stretto.state.work.units import Cure
from stretto.stores.store import EventType, Record, WatchEvent

# Members of enums by local names: looked up for every event, and the class is slow to ask.
_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_ASSUMED: Final = int(PodState.ASSUMED)  # NumPy asks an enum's class three times a comparison
_BOUND: Final = PodState.BOUND
_DELETING: Final = attrgetter("deleting")
_SORT: Final = attrgetter("bind", "type")
"""What decides which quick way may be open to an event."""


class Ingest:
    """Applies events to a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """An applier for one cluster."""
        #: Gödel's second managers of nodes.
        self.managers = NodeManagers(cluster)
        self._cluster = cluster
        self._ranks = PodPriorities(cluster)
        self._volumes = VolumePods(cluster)
        self._registration = PodRegistration(cluster, self._ranks)
        self._quick: Mapping[tuple[bool, EventType], Callable[[list[WatchEvent], float], bool]] = {
            (False, _ADDED): self._add_arrivals,
            (True, _MODIFIED): self._apply_echo,
        }

    # ------------------------------------------------------------ other kinds

    def nodes(self, events: Iterable[WatchEvent]) -> None:
        """Apply node events."""
        apply_nodes(self._cluster, events, self.managers)

    def groups(self, events: Iterable[WatchEvent]) -> None:
        """Apply PodGroup events."""
        apply_groups(self._cluster, events)

    def priorities(self, events: Iterable[WatchEvent]) -> None:
        """Apply PriorityClass events."""
        self._ranks.classes(events)

    # ------------------------------------------------------------ pods

    def pods(self, events: Sequence[WatchEvent], now: float) -> None:
        """Apply pod events, in order."""
        cluster, mixed = self._cluster, list[WatchEvent]()
        for sort, group in groupby(events, _SORT):
            run = list(group)
            quick = self._quick.get(sort) if len(run) >= WORTHWHILE else None
            if quick is None:
                mixed += run
                continue
            self._apply_mixed(mixed, now)
            mixed = [] if quick(run, now) else run
        self._apply_mixed(mixed, now)
        if cluster.config.whole:
            whole_objects.store_bodies(cluster, events)
        elif cluster.config.volumes:
            self._volumes.keep(events)

    def _add_arrivals(self, events: list[WatchEvent], now: float) -> bool:
        """A run of pods, if none of them was seen before."""
        known = self._cluster.pods
        uids = [event.record.uid for event in events]
        if not known.are_new(uids):
            return False
        self._registration.add(events, now)
        return True

    def _apply_echo(self, events: list[WatchEvent], now: float) -> bool:
        """A run of binds, if all of them are our own."""
        cluster, pods = self._cluster, self._cluster.pods
        records = [event.record for event in events]
        rows = pods.rows_of([record.uid for record in records])
        if None in rows or any(map(_DELETING, records)):
            return False
        index = np.array(rows, np.int64)
        slots = pods.slot[index]
        if (pods.state[index] != _ASSUMED).any() or (slots < 0).any():
            return False
        names = cluster.nodes.names
        if [record.node for record in records] != [names[slot] for slot in slots.tolist()]:
            return False
        pods.version[index] = [record.version for record in records]
        self._confirm(index, now)
        return True

    def _apply_mixed(self, events: Sequence[WatchEvent], now: float) -> None:
        """Events of any sorts, in order."""
        cluster = self._cluster
        row_of = cluster.pods.row
        states, slots = cluster.pods.state, cluster.pods.slot
        fresh: list[WatchEvent] = []
        fresh_uids: set[str] = set()
        echoes: dict[int, None] = {}
        names = cluster.nodes.names
        for event in events:
            record = event.record
            uid = record.uid
            if event.type is _ADDED and row_of(uid) is None and uid not in fresh_uids:
                fresh.append(event)
                fresh_uids.add(uid)
                continue
            if uid in fresh_uids:
                self._registration.add(fresh, now)
                fresh, fresh_uids = [], set()
                states, slots = cluster.pods.state, cluster.pods.slot
            row = row_of(uid)
            if (
                row is not None
                and event.type is _MODIFIED
                and record.node
                and states[row] == _ASSUMED
                and slots[row] != NO_SLOT
                and names[slots[row]] == record.node
                and not record.deleting
                and (
                    event.bind or not (may_be_finished(record) or may_report_resources(record.body))
                )
            ):
                echoes[row] = None
                cluster.pods.version[row] = record.version
                continue
            if row in echoes:
                self._confirm(np.array(list(echoes), np.int64), now)
                echoes = {}
            self._one(event, row, now)
            states, slots = cluster.pods.state, cluster.pods.slot
        self._confirm(np.array(list(echoes), np.int64), now)
        self._registration.add(fresh, now)

    def reread(self, records: Iterable[Record], now: float) -> None:
        """Pods that wait, as they are: their classes tell more than when they came."""
        pods = self._cluster.pods
        for record in records:
            row = pods.row(record.uid)
            if row is not None and pods.slot[row] == NO_SLOT and not record.node:
                self._change(row, record, decode_pod_head(record.body), now)

    def end(self, row: int) -> None:
        """A pod has gone: give back what it had, and its row."""
        cluster, pods = self._cluster, self._cluster.pods
        serial, ours = int(pods.serial[row]), cluster.evictions.is_ours(row)
        cluster.charges.refund_ended(row, ours=ours)
        cluster.changes.departures.append(PodDeparture(row, serial, pods.uid[row], ours))
        cluster.classes.release(int(pods.class_id[row]))
        cluster.preemption_attributes.release(int(pods.preemption_attributes[row]))
        cluster.domains.end(row)
        pods.remove(row)
        pods.log.add(row)

    def _confirm(self, rows: npt.NDArray[np.int64], now: float) -> None:
        """Our own binds seen in the store."""
        if len(rows):
            pods = self._cluster.pods
            step_pods(pods.state, rows, PodEvent.BIND)
            pods.started[rows] = now
            pods.log.extend(rows)
            self._cluster.changes.bound.extend(rows.tolist())

    def _one(self, event: WatchEvent, row: int | None, now: float) -> None:
        """Any other change of one pod."""
        record, cluster = event.record, self._cluster
        if event.type is EventType.BOOKMARK:
            return
        if row is None:
            cluster.abnormal.pop(key_of(record), None)
            if event.type is not EventType.DELETED:
                self._registration.add([event], now)
            return
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
        if head.status.phase in FINISHED:
            self.end(row)
            return
        self._change(row, record, head, now)

    def _change(self, row: int, record: Record, head: PodHead, now: float) -> None:
        """A pod that was seen before, changed and is still wanted."""
        cluster, pods = self._cluster, self._cluster.pods
        node = record.node or head.spec.node_name
        self._change_class(row, record, head)
        record_preemption_attributes(cluster, row, head)
        if node:
            if pods.state[row] != _BOUND:
                pods.started[row] = now
            note = micro_topology(record, head)
            self._node_seen(row, node, device_mask(record, head), note)
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
        cluster.changes.cures |= Cure.POD_CHANGED

    def _change_class(self, row: int, record: Record, head: PodHead) -> None:
        """Re-intern a changed spec, labels or resources told; what is charged follows."""
        cluster, pods = self._cluster, self._cluster.pods
        try:
            told = reported_resources(record, head)
            class_id = cluster.classes.intern(head, record.body, told)
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
            cluster.changes.cures |= Cure.POD_LABELS
        elif slot != NO_SLOT:
            cluster.charges.charge(row, slot, mask)
            cluster.changes.resized.append(row)

    def _node_seen(self, row: int, node: str, mask: int, note: str = "") -> None:
        """A pod is bound to a node in the store: the store is right, whatever we thought."""
        cluster, pods = self._cluster, self._cluster.pods
        slot = cluster.nodes.by_name.get(node)
        if pods.slot[row] != (NO_SLOT if slot is None else slot) or slot is None:
            cluster.charges.refund(row)
            if slot is None:
                pods.devices[row] = mask
                cluster.charges.charge_unplaced([row], node)
            else:
                charge_seen_pod(cluster, row, slot, mask, note)
        state = PodState(int(pods.state[row]))
        if state is not PodState.BOUND:
            pods.state[row] = POD_LIFE.next(state, PodEvent.BIND)
            pods.log.add(row)
            cluster.changes.bound.append(row)
