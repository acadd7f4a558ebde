"""Watch events into columns: what a batch of records means for the cluster.

Events come in order of versions and each is looked at once. A batch of new pods, and the echo of a
batch of our own binds, take the quick way: lists first, columns once. Everything else (a pod bound
by somebody else, changed, ended) is rare and goes one by one. An object that cannot be read is
noted in ``cluster.abnormal`` and fails alone.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.api.heads import PodHead, decode_pod_head
from stretto.base.errors import InputError
from stretto.state import whole
from stretto.state.changes import Arrival, Departure
from stretto.state.classes import GPU_DEVICES
from stretto.state.cluster import Cluster
from stretto.state.ingest_kinds import apply_groups, apply_nodes
from stretto.state.lifecycle import POD_LIFE, PodEvent, PodState, step_pods
from stretto.state.likeness import Made, likeness
from stretto.state.pods import NO_SLOT, NewPod
from stretto.state.queue_ingest import UNIT_MARKS
from stretto.state.ranks import Ranks, note_stay, note_traits
from stretto.state.topology_ingest import device_mask, micro_topology, note_owners
from stretto.state.units import Cure
from stretto.state.volume_pods import VolumePods
from stretto.stores.store import Event, EventType, Record

_NOTES: Final = msgspec.json.Decoder(dict[str, str])
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_DEVICES_MARK: Final = GPU_DEVICES.encode()
# Members of enums by local names: looked up for every event, and the class is slow to ask.
_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_ASSUMED: Final = int(PodState.ASSUMED)  # NumPy asks an enum's class three times a comparison
_BOUND: Final = PodState.BOUND
_GATED: Final = PodState.GATED
_PENDING: Final = PodState.PENDING


class Ingest:
    """Applies events to a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """An applier for one cluster."""
        self._cluster = cluster
        self._ranks = Ranks(cluster)
        self._volumes = VolumePods(cluster)
        self._templates = 0

    # ------------------------------------------------------------ other kinds

    def nodes(self, events: Iterable[Event]) -> None:
        """Apply node events."""
        apply_nodes(self._cluster, events)

    def groups(self, events: Iterable[Event]) -> None:
        """Apply PodGroup events."""
        apply_groups(self._cluster, events)

    def priorities(self, events: Iterable[Event]) -> None:
        """Apply PriorityClass events."""
        self._ranks.classes(events)

    # ------------------------------------------------------------ pods

    def pods(self, events: Sequence[Event], now: float) -> None:
        """Apply pod events, in order."""
        cluster = self._cluster
        row_of = cluster.pods.row
        states, slots = cluster.pods.state, cluster.pods.slot
        fresh: list[tuple[Record, PodHead | None]] = []
        fresh_uids: set[str] = set()
        echoes: dict[int, None] = {}
        names = cluster.nodes.names
        for event in events:
            record = event.record
            uid = record.uid
            if event.type is _ADDED and row_of(uid) is None and uid not in fresh_uids:
                fresh.append((record, event.head))
                fresh_uids.add(uid)
                continue
            if uid in fresh_uids:
                self._add(fresh, now)
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
                and (event.bind or not _may_be_finished(record))
            ):
                echoes[row] = None
                cluster.pods.version[row] = record.version
                continue
            if row in echoes:
                self._confirm(echoes, now)
                echoes = {}
            self._one(event, row, now)
            states, slots = cluster.pods.state, cluster.pods.slot
        self._confirm(echoes, now)
        self._add(fresh, now)
        if cluster.config.whole:
            whole.keep_bodies(cluster, events)
        elif cluster.config.volumes:
            self._volumes.keep(events)

    def end(self, row: int) -> None:
        """A pod has gone: give back what it had, and its row."""
        cluster, pods = self._cluster, self._cluster.pods
        serial, ours = int(pods.serial[row]), cluster.evictions.is_ours(row)
        cluster.leave(row, ours=ours)
        cluster.changes.departures.append(Departure(row, serial, pods.uid[row], ours))
        cluster.classes.leave(int(pods.class_id[row]))
        cluster.traits.leave(int(pods.traits[row]))
        cluster.domains.end(row)
        pods.remove(row)
        pods.log.add(row)

    def _confirm(self, rows: dict[int, None], now: float) -> None:
        """Our own binds seen in the store."""
        if rows:
            pods, index = self._cluster.pods, np.array(list(rows), np.int64)
            step_pods(pods.state, index, PodEvent.BIND)
            pods.started[index] = now
            pods.log.extend(index)
            self._cluster.changes.bound.extend(rows)

    def _add(self, fresh: list[tuple[Record, PodHead | None]], now: float) -> None:
        """Rows for pods not seen before; foreign ones count only once they are on a node."""
        if not fresh:
            return
        cluster = self._cluster
        wanted: list[NewPod] = []
        kept: list[tuple[Record, PodHead | None]] = []
        alike: dict[bytes, Made] = {}
        for record, head in fresh:
            try:
                new = self._new_pod(record, head, now, alike)
            except InputError as error:
                cluster.abnormal[_key(record)] = str(error)
                continue
            if new is not None:
                wanted.append(new)
                kept.append((record, head))
        if not wanted:
            return
        rows = cluster.pods.add(wanted)
        use = cluster.classes.use
        for new in wanted:
            use(new.class_id)
        if len(cluster.traits) > 1:
            for new in wanted:
                cluster.traits.use(new.traits)
        cluster.domains.tags.use(cluster.pods.tag[rows])
        cluster.domains.admit(rows)
        note_owners(cluster, rows, kept)
        self._settle(rows.tolist(), wanted, kept, now)

    def _settle(
        self,
        rows: list[int],
        wanted: list[NewPod],
        kept: list[tuple[Record, PodHead | None]],
        now: float,
    ) -> None:
        """Put new pods that are bound on their nodes, and announce the others."""
        cluster = self._cluster
        arrivals = cluster.changes.arrivals
        plain_rows: list[int] = []
        plain_slots: list[int] = []
        seen: list[tuple[int, Record, PodHead | None]] = []
        special, started = cluster.classes.special, cluster.pods.started
        by_name = cluster.nodes.by_name
        for row, new, (record, head) in zip(rows, wanted, kept, strict=True):
            if new.state is not _BOUND:
                assert head is not None or record.body
                meta = (head or decode_pod_head(record.body)).metadata
                gated = new.state is _GATED
                arrivals.append(Arrival(row, meta, gated, new.uid, new.template))
                continue
            if any(mark in record.body for mark in UNIT_MARKS):
                meta = (head or decode_pod_head(record.body)).metadata
                arrivals.append(Arrival(row, meta, False, new.uid))
            node = record.node or (head or decode_pod_head(record.body)).spec.node_name
            slot = by_name.get(node)
            started[row] = now
            if record.deleting or head is not None:
                seen.append((row, record, head))
            if slot is None:
                cluster.pods.devices[row] = device_mask(record, head)
                cluster.place_strays([row], node)
            elif special[new.class_id]:
                note = micro_topology(record, head)
                cluster.charge(row, slot, device_mask(record, head), note)
            else:
                plain_rows.append(row)
                plain_slots.append(slot)
        if plain_rows:
            cluster.charge_plain(np.array(plain_rows, np.int64), np.array(plain_slots, np.int32))
        for row, record, head in seen:
            note_stay(cluster, row, record, head)

    def _new_pod(
        self, record: Record, head: PodHead | None, now: float, alike: dict[bytes, Made]
    ) -> NewPod | None:
        """The row to make of a record, or ``None`` for a pod that is none of our business.

        ``alike`` is what was made of the other pods of this batch, by all that it is made from:
        nothing is given up while a batch is read, so it holds to the batch's end.
        """
        cluster = self._cluster
        if record.node and head is None and not _may_be_finished(record):
            tag, head = cluster.domains.tags.intern_shared(record.namespace, record.body)
            class_id = cluster.classes.intern_shared(head, record.body)
            priority, traits = self._ranks.of_running(record)
            return NewPod(
                record.uid, record.namespace, record.name, class_id, priority, record.version, now,
                PodState.BOUND, traits, tag,
            )  # fmt: skip
        if head is None:
            head = decode_pod_head(record.body)
        spec = head.spec
        if head.status.phase in _FINISHED:
            return None
        bound = bool(record.node or spec.node_name)
        if not bound and (
            record.deleting or spec.scheduler_name not in cluster.config.scheduler_names
        ):
            return None
        key = likeness(record.namespace, head)
        made = alike.get(key)
        if made is None:
            made = alike[key] = self._make(record, head)
        state = _BOUND if bound else _GATED if spec.is_gated else _PENDING
        class_id, priority, traits, tag, template = made
        return NewPod(
            record.uid, record.namespace, record.name, class_id, priority, record.version, now,
            state, traits, tag, template,
        )  # fmt: skip

    def _make(self, record: Record, head: PodHead) -> Made:
        """Class, priority, traits and tag of a pod, and a number for its template."""
        cluster = self._cluster
        priority = self._ranks.priority(record, head)
        class_id = cluster.classes.intern(head, record.body)
        traits = cluster.traits.number_of(head)
        tag = cluster.domains.tags.of_head(record.namespace, head)
        self._templates += 1
        return class_id, priority, traits, tag, self._templates

    def _one(self, event: Event, row: int | None, now: float) -> None:
        """Any other change of one pod."""
        record, cluster = event.record, self._cluster
        if event.type is EventType.BOOKMARK:
            return
        if row is None:
            cluster.abnormal.pop(_key(record), None)
            if event.type is not EventType.DELETED:
                self._add([(record, event.head)], now)
            return
        pods = cluster.pods
        if record.version <= pods.version[row] and event.type is not EventType.DELETED:
            return
        pods.version[row] = record.version
        if record.version in cluster.own_writes:
            cluster.own_writes.discard(record.version)
            return
        cluster.abnormal.pop(_key(record), None)
        if event.type is EventType.DELETED:
            self.end(row)
            return
        try:
            head = event.head if event.head is not None else decode_pod_head(record.body)
        except InputError as error:
            cluster.abnormal[_key(record)] = str(error)
            return
        if head.status.phase in _FINISHED:
            self.end(row)
            return
        self._change(row, record, head, now)

    def _change(self, row: int, record: Record, head: PodHead, now: float) -> None:
        """A pod that was seen before, changed and is still wanted."""
        cluster, pods = self._cluster, self._cluster.pods
        node = record.node or head.spec.node_name
        self._change_class(row, record, head)
        note_traits(cluster, row, head)
        if node:
            if pods.state[row] != _BOUND:
                pods.started[row] = now
            note = micro_topology(record, head)
            self._seen_on(row, node, device_mask(record, head), note)
            note_stay(cluster, row, record, head)
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
        cluster.changes.regrouped.append(Arrival(row, head.metadata, gated, record.uid))
        cluster.changes.cures |= Cure.POD_CHANGED

    def _change_class(self, row: int, record: Record, head: PodHead) -> None:
        """Re-intern a changed spec or changed labels; what is charged follows."""
        cluster, pods = self._cluster, self._cluster.pods
        try:
            class_id = cluster.classes.intern(head, record.body)
            tag = cluster.domains.tags.of_head(record.namespace, head)
        except InputError as error:
            cluster.abnormal[_key(record)] = str(error)
            return
        old = int(pods.class_id[row])
        same = cluster.classes.is_of(old, class_id)
        if same and tag == pods.tag[row]:
            return
        slot, mask = int(pods.slot[row]), int(pods.devices[row])
        if slot != NO_SLOT and not same:
            cluster.refund(row)
        cluster.domains.retag(row, tag)
        cluster.classes.use(class_id)
        pods.class_id[row] = class_id
        cluster.classes.leave(old)
        cluster.domains.admit(np.array([row]))
        pods.log.add(row)
        if slot != NO_SLOT and same:
            cluster.changes.cures |= Cure.POD_LABELS
        elif slot != NO_SLOT:
            cluster.charge(row, slot, mask)
            cluster.changes.resized.append(row)

    def _seen_on(self, row: int, node: str, mask: int, note: str = "") -> None:
        """A pod is bound to a node in the store: the store is right, whatever we thought."""
        cluster, pods = self._cluster, self._cluster.pods
        slot = cluster.nodes.by_name.get(node)
        if pods.slot[row] != (NO_SLOT if slot is None else slot) or slot is None:
            cluster.refund(row)
            if slot is None:
                pods.devices[row] = mask
                cluster.place_strays([row], node)
            else:
                cluster.charge(row, slot, mask, note)
        state = PodState(int(pods.state[row]))
        if state is not PodState.BOUND:
            pods.state[row] = POD_LIFE.next(state, PodEvent.BIND)
            pods.log.add(row)
            cluster.changes.bound.append(row)


def _key(record: Record) -> str:
    """A pod in ``Cluster.abnormal``."""
    return f"pod {record.namespace}/{record.name}"


def _may_be_finished(record: Record) -> bool:
    """Whether the phase must be read: the quick ways do not decode, and a search costs little."""
    return b'"Succeeded"' in record.body or b'"Failed"' in record.body
