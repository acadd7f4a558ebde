"""Pods not seen before: from watch events to rows.

A batch is read into columns first and given its rows at once. Pods of one template come together,
so what they have in common is made once (``template_key``).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from operator import attrgetter
from typing import Final

import numpy as np

from stretto.api.types.heads import MetaHead, PodHead, decode_pod_head
from stretto.base.errors import InputError
from stretto.base.tuples import named_tuples
from stretto.state.classes.resizing import reported_resources
from stretto.state.classes.template_key import (
    SHARED_BODIES,
    Made,
    template_key,
    template_key_with_images,
)
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import (
    charge_seen_pod,
    device_mask,
    micro_topology,
    record_owners,
)
from stretto.state.ingest.priorities import PodPriorities, record_eviction_state
from stretto.state.ingest.queues import UNIT_MARKS
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NewRows
from stretto.state.work.changes import PodArrival
from stretto.stores.store import Record, WatchEvent

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases of pods that hold nothing any more."""
SHARED: Final = 4096
"""Heads that many pods share of which the same is kept; each keeps a body alive."""
TEMPLATES: Final = 4096
"""Templates whose making is kept; all are forgotten when there are more."""
_OURS: Final = b""
_OTHERS: Final = b"\0others"
"""What tells the template of another scheduler's pods from ours that are like it."""
# Members of enums by local names: looked up for every event, and the class is slow to ask.
_BOUND: Final = PodState.BOUND
_GATED: Final = PodState.GATED
_PENDING: Final = PodState.PENDING


Found = tuple[PodState, Made]
"""State of a new pod, and what was made of it."""
_NODE: Final = attrgetter("record.node")
_DELETING: Final = attrgetter("record.deleting")
_NOMINATED: Final = attrgetter("status.nominated_node_name")


class PodRegistration:
    """Gives rows to new pods; foreign ones count only once they are on a node."""

    def __init__(self, cluster: Cluster, ranks: PodPriorities) -> None:
        """Read for one cluster."""
        self._cluster = cluster
        self._ranks = ranks
        self._templates = 0
        self._likeness = template_key
        # What was made of earlier pods, by all that it is made from, and of what time that is.
        self._alike: dict[bytes, Made] = {}
        # The same by the identity of a head that many waiting pods share, which is kept for that.
        self._of_shared: dict[int, Found] = {}
        self._heads: list[PodHead] = []
        self._epoch: tuple[int, ...] = ()
        self._metas: dict[bytes, MetaHead] = {}

    def add(self, events: Sequence[WatchEvent], now: float) -> None:
        """Rows for pods of which no row is known; each of the events has another uid."""
        self._forget_outdated()
        by_image = self._cluster.classes.by_image
        self._likeness = template_key_with_images if by_image else template_key
        shared = self._of_shared
        if any(map(_NODE, events)) or any(map(_DELETING, events)):
            shared = {}  # what is kept is of pods that wait
        known, read = shared.get, self._read_or_report
        found = [known(id(event.head)) or read(event) for event in events]
        kept = [each for each, one in zip(events, found, strict=True) if one is not None]
        if kept:
            self._settle(kept, [one for one in found if one is not None], now)

    def _read_or_report(self, event: WatchEvent) -> Found | None:
        """What one pod is; ``None`` where it is none of our business or makes no sense."""
        record, head = event.record, event.head
        try:
            found = self._read(record, head)
        except InputError as error:
            self._cluster.abnormal[key_of(record)] = str(error)
            return None
        if found is None or found[0] is not _PENDING:
            return found
        if head is not None and not head.metadata.name:
            self._of_shared[id(head)] = found
            self._heads.append(head)
        return found

    def _forget_outdated(self) -> None:
        """Keep of what was made of other pods only what still means the same.

        Nothing is given up while a batch is read, so that holds to the batch's end.
        """
        cluster, tags = self._cluster, self._cluster.domains.tags
        epoch = (
            cluster.classes.forgotten,
            cluster.preemption_attributes.forgotten,
            tags.forgotten,
            tags.with_owners,
            cluster.classes.by_image,
            self._ranks.changes,
        )
        is_full = len(self._alike) > TEMPLATES or len(self._heads) > SHARED
        if epoch != self._epoch or is_full:
            self._epoch = epoch
            self._alike.clear()
            self._of_shared.clear()
            self._heads.clear()

    def _read(self, record: Record, head: PodHead | None) -> Found | None:
        """State and making of any pod, or ``None`` for one that is none of our business."""
        cluster = self._cluster
        if record.node and head is None and not may_be_finished(record):
            tag, head = cluster.domains.tags.intern_shared(record.namespace, record.body)
            class_id = cluster.classes.intern_shared(head, record.body)
            priority, traits = self._ranks.running_priority(record)
            return _BOUND, (class_id, priority, traits, tag, -1)
        if head is None:
            head = decode_pod_head(record.body)
        spec = head.spec
        if head.status.phase in FINISHED:
            return None
        bound, names = bool(record.node or spec.node_name), cluster.config.scheduler_names
        if not bound and (record.deleting or spec.scheduler_name not in names):
            return None
        whose = _OURS if spec.scheduler_name in names else _OTHERS
        if bound:
            return _BOUND, self._made(record, head, whose + reported_resources(record, head))
        return _GATED if spec.is_gated else _PENDING, self._made(record, head, whose)

    def _made(self, record: Record, head: PodHead, whose: bytes = _OURS) -> Made:
        """Class, priority, traits and tag of a pod, and a number for its template."""
        key = self._likeness(record.namespace, head) + whose
        return self._alike.get(key) or self._make(record, head, key)

    def _make(self, record: Record, head: PodHead, key: bytes) -> Made:
        """The same of a pod whose like was not seen before."""
        cluster = self._cluster
        if not head.metadata.name:
            head = decode_pod_head(record.body)  # a complaint about it must name it
        priority = self._ranks.priority(record, head)
        class_id = cluster.classes.intern(head, record.body, reported_resources(record, head))
        traits = cluster.preemption_attributes.number_of(head)
        tag = cluster.domains.tags.intern_head(record.namespace, head)
        self._templates += 1
        made = self._alike[key] = class_id, priority, traits, tag, self._templates
        return made

    def _settle(self, events: list[WatchEvent], found: list[Found], now: float) -> None:
        """Rows, and what else counts pods; then those that wait are announced, others placed."""
        cluster = self._cluster
        records = [event.record for event in events]
        states, made = zip(*found, strict=True)
        classes, priorities, traits, tags, templates = zip(*made, strict=True)
        uids = [record.uid for record in records]
        all_wait = states.count(_PENDING) == len(states)
        rows = cluster.pods.add_rows(
            NewRows(
                uids,
                [record.namespace for record in records],
                [record.name for record in records],
                classes,
                priorities,
                [record.version for record in records],
                now,
                _PENDING if all_wait else states,
                traits,
                tags,
            )
        )
        for class_id, count in Counter(classes).items():
            cluster.classes.use(class_id, count)
        if len(cluster.preemption_attributes) > 1:
            for number in traits:
                cluster.preemption_attributes.use(number)
        cluster.domains.tags.use(cluster.pods.tag[rows])
        cluster.domains.assign_populations(rows)
        record_owners(cluster, rows, events)
        if all_wait:
            heads = [event.head or decode_pod_head(event.record.body) for event in events]
            if any(map(_NOMINATED, heads)):
                for row, head in zip(rows.tolist(), heads, strict=True):
                    self._adopt_claims(row, head)
            metas = [head.metadata for head in heads]
            new = named_tuples(PodArrival, rows.tolist(), metas, repeat(False), uids, templates)
            cluster.changes.arrivals.extend(new)
        else:
            kept = [row for row in cluster.pods.rows_of(uids) if row is not None]
            self._part(kept, events, (classes, templates), states, now)  # a million share numbers

    def _part(
        self,
        rows: list[int],
        events: list[WatchEvent],
        made: tuple[Sequence[int], Sequence[int]],
        states: Sequence[PodState],
        now: float,
    ) -> None:
        """Announce new pods that want a node, and put the others on theirs."""
        bound: list[tuple[int, int, WatchEvent]] = []
        for i, (row, event, state) in enumerate(zip(rows, events, states, strict=True)):
            if state is _BOUND:
                bound.append((row, made[0][i], event))
                continue
            head = event.head or decode_pod_head(event.record.body)
            self._adopt_claims(row, head)
            new = PodArrival(row, head.metadata, state is _GATED, event.record.uid, made[1][i])
            self._cluster.changes.arrivals.append(new)
        if bound:
            self._put_on_nodes(bound, now)

    def _adopt_claims(self, row: int, head: PodHead) -> None:
        """Note a pod that waits with a node's name on it: nobody here keeps that node for it."""
        if head.status.nominated_node_name:
            self._cluster.evictions.inherited[row] = int(self._cluster.pods.serial[row])

    def _meta_of(self, body: bytes) -> MetaHead:
        """The metadata of a body that many pods may share."""
        found = self._metas.get(body)
        if found is None:
            if len(self._metas) >= SHARED_BODIES:
                self._metas.clear()
            found = self._metas[body] = decode_pod_head(body).metadata
        return found

    def _put_on_nodes(self, bound: list[tuple[int, int, WatchEvent]], now: float) -> None:
        """New pods (row, class id, event) that have a node are charged there."""
        cluster = self._cluster
        plain_rows: list[int] = []
        plain_slots: list[int] = []
        special, started = cluster.classes.special, cluster.pods.started
        by_name = cluster.nodes.by_name
        for row, class_id, event in bound:
            record, head = event.record, event.head
            if any(mark in record.body for mark in UNIT_MARKS):
                meta = head.metadata if head is not None else self._meta_of(record.body)
                cluster.changes.arrivals.append(PodArrival(row, meta, False, record.uid))
            node = record.node or (head or decode_pod_head(record.body)).spec.node_name
            slot = by_name.get(node)
            started[row] = now
            if slot is None:
                cluster.pods.devices[row] = device_mask(record, head)
                cluster.charges.charge_unplaced([row], node)
            elif special[class_id]:
                note = micro_topology(record, head)
                charge_seen_pod(cluster, row, slot, device_mask(record, head), note)
            else:
                plain_rows.append(row)
                plain_slots.append(slot)
        if plain_rows:
            cluster.charges.charge_plain(
                np.array(plain_rows, np.int64), np.array(plain_slots, np.int32)
            )
        for row, _, event in bound:
            if event.record.deleting or event.head is not None:
                record_eviction_state(cluster, row, event.record, event.head)


def key_of(record: Record) -> str:
    """A pod in ``Cluster.abnormal``."""
    return f"pod {record.namespace}/{record.name}"


def may_be_finished(record: Record) -> bool:
    """Whether the phase must be read: the quick ways do not decode, and a search costs little."""
    return b'"Succeeded"' in record.body or b'"Failed"' in record.body
