"""Rows for new pods, from watch events.

A batch is read into columns first and its rows are added at once. Pods of one template arrive
together, so their common values are computed once (``templates``).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from operator import attrgetter
from typing import Final

import numpy as np

from stretto.api.types.heads import MetaHead, PodHead, decode_pod_head
from stretto.base.arrays import named_tuples
from stretto.state.classes.template_key import SHARED_BODIES
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.node_reports import (
    charge_seen_pod,
    device_mask,
    micro_topology,
    record_owners,
)
from stretto.state.ingest.priorities import START_TIME, PodPriorities, record_eviction_state
from stretto.state.ingest.queues import names_unit
from stretto.state.ingest.templates import Found, PodTemplateCache
from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import NewRows
from stretto.state.work.changes import PodArrival
from stretto.stores.store import WatchEvent

# Enum members as module names: they are read for every event, and attribute access on an enum class
# is slow.
_BOUND: Final = PodState.BOUND
_GATED: Final = PodState.GATED
_PENDING: Final = PodState.PENDING


_NOMINATED: Final = attrgetter("status.nominated_node_name")


class PodRegistration:
    """Adds rows for new pods; pods of other schedulers count only after they have a node."""

    def __init__(self, cluster: Cluster, priorities: PodPriorities) -> None:
        """Register pods of one cluster."""
        self._cluster = cluster
        self._templates = PodTemplateCache(cluster, priorities)
        self._metas: dict[bytes, MetaHead] = {}

    def add(self, events: Sequence[WatchEvent], now: float) -> None:
        """Add rows for unknown pods; the events have distinct uids."""
        found = self._templates.read(events)
        relevant = [each for each, one in zip(events, found, strict=True) if one is not None]
        if relevant:
            self._settle(relevant, [one for one in found if one is not None], now)

    def _settle(self, events: list[WatchEvent], found: list[Found], now: float) -> None:
        """Add rows and update all counts; then announce pending pods and place the others."""
        cluster = self._cluster
        records = [event.record for event in events]
        states, made = zip(*found, strict=True)
        classes, priorities, attributes, tags, templates = zip(*made, strict=True)
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
                attributes,
                tags,
            )
        )
        for class_id, count in Counter(classes).items():
            cluster.classes.use(class_id, count)
        if len(cluster.preemption_attributes) > 1:
            for number in attributes:
                cluster.preemption_attributes.use(number)
        cluster.domains.tags.use(cluster.pods.tag[rows])
        cluster.domains.assign_populations(rows)
        record_owners(cluster, rows, events)
        if all_wait:
            heads = [event.head or decode_pod_head(event.record.body) for event in events]
            if any(map(_NOMINATED, heads)):
                for row, head in zip(rows.tolist(), heads, strict=True):
                    self._record_inherited(row, head)
            metas = [head.metadata for head in heads]
            new = named_tuples(PodArrival, rows.tolist(), metas, repeat(False), uids, templates)
            cluster.changes.arrivals.extend(new)
        else:
            indexed = [row for row in cluster.pods.rows_of(uids) if row is not None]
            # ``rows_of`` returns the int objects of the index: no second int per row.
            self._part(indexed, events, (classes, templates), states, now)

    def _part(
        self,
        rows: list[int],
        events: list[WatchEvent],
        made: tuple[Sequence[int], Sequence[int]],
        states: Sequence[PodState],
        now: float,
    ) -> None:
        """Announce pending pods, and charge the others to their nodes."""
        bound: list[tuple[int, int, WatchEvent]] = []
        for i, (row, event, state) in enumerate(zip(rows, events, states, strict=True)):
            if state is _BOUND:
                bound.append((row, made[0][i], event))
                continue
            head = event.head or decode_pod_head(event.record.body)
            self._record_inherited(row, head)
            new = PodArrival(row, head.metadata, state is _GATED, event.record.uid, made[1][i])
            self._cluster.changes.arrivals.append(new)
        if bound:
            self._put_on_nodes(bound, now)

    def _record_inherited(self, row: int, head: PodHead) -> None:
        """Record a stale nominatedNodeName left by a previous scheduler."""
        if head.status.nominated_node_name:
            self._cluster.nominations.inherited[row] = int(self._cluster.pods.serial[row])

    def _meta_of(self, body: bytes) -> MetaHead:
        """The metadata of a body that many pods may share."""
        found = self._metas.get(body)
        if found is None:
            if len(self._metas) >= SHARED_BODIES:
                self._metas.clear()
            found = self._metas[body] = decode_pod_head(body).metadata
        return found

    def _put_on_nodes(self, bound: list[tuple[int, int, WatchEvent]], now: float) -> None:
        """Charge new pods (row, class id, event) that have a node."""
        cluster = self._cluster
        plain_rows: list[int] = []
        plain_slots: list[int] = []
        special, started = cluster.classes.special, cluster.pods.started
        by_name = cluster.nodes.by_name
        for row, class_id, event in bound:
            record, head = event.record, event.head
            if names_unit(record.body):
                meta = head.metadata if head is not None else self._meta_of(record.body)
                cluster.changes.arrivals.append(PodArrival(row, meta, False, record.uid))
            node = record.node or (head or decode_pod_head(record.body)).spec.node_name
            slot = by_name.get(node)
            started[row] = now
            if slot is None:
                cluster.pods.devices[row] = device_mask(record, head)
                cluster.charges.charge_unplaced([row], node)
            elif special[class_id]:
                annotation = micro_topology(record, head)
                charge_seen_pod(cluster, row, slot, device_mask(record, head), annotation)
            else:
                plain_rows.append(row)
                plain_slots.append(slot)
        if plain_rows:
            cluster.charges.charge_plain(
                np.array(plain_rows, np.int64), np.array(plain_slots, np.int32)
            )
        for row, _, event in bound:
            record, head = event.record, event.head
            if head is None and START_TIME in record.body:
                head = decode_pod_head(record.body)  # rare: many pods share a body without status
            if record.deleting or head is not None:
                record_eviction_state(cluster, row, record, head)
