"""Application of pod events to the columns.

Events arrive in version order and each is read once. A batch of new pods and the watch events of
our own binds use the fast path: lists first, then all columns at once. All other events (a pod
bound by another scheduler, changed, ended) are rare and are applied one by one. An unreadable
object is recorded in ``cluster.abnormal`` and fails alone.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.arrays import WORTHWHILE
from stretto.state.classes.resizing import may_report_resources
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest import whole_objects
from stretto.state.ingest.known_pods import KnownPods
from stretto.state.ingest.new_pods import PodRegistration
from stretto.state.ingest.priorities import PodPriorities
from stretto.state.ingest.templates import key_of, may_be_finished
from stretto.state.ingest.volume_pods import VolumePods
from stretto.state.rows.lifecycle import PodEvent, PodState, step_pods
from stretto.state.rows.pods import NO_SLOT
from stretto.stores.store import EventType, WatchEvent

# Enum members as module names: they are read for every event, and attribute access on an enum class
# is slow.
_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_ASSUMED: Final = int(PodState.ASSUMED)  # NumPy checks an enum three times per comparison
_DELETING: Final = attrgetter("deleting")
_SORT: Final = attrgetter("bind", "type")
"""Event fields that select the fast path."""


class PodIngest:
    """Applies pod events to a cluster, in batches where possible."""

    def __init__(self, cluster: Cluster, priorities: PodPriorities) -> None:
        """Apply events to one cluster."""
        #: Changes of pods that have rows.
        self.known = KnownPods(cluster)
        self._cluster = cluster
        self._volumes = VolumePods(cluster)
        self._registration = PodRegistration(cluster, priorities)
        self._quick: Mapping[tuple[bool, EventType], Callable[[list[WatchEvent], float], bool]] = {
            (False, _ADDED): self._add_arrivals,
            (True, _MODIFIED): self._apply_echo,
        }

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
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
        """Apply a run of new pods, if none of them is known."""
        known = self._cluster.pods
        uids = [event.record.uid for event in events]
        if not known.are_new(uids):
            return False
        self._registration.add(events, now)
        return True

    def _apply_echo(self, events: list[WatchEvent], now: float) -> bool:
        """Apply a run of binds, if all of them are our own."""
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
        """Apply events of any type, in order."""
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
            self._apply_one(event, row, now)
            states, slots = cluster.pods.state, cluster.pods.slot
        self._confirm(np.array(list(echoes), np.int64), now)
        if fresh:
            self._registration.add(fresh, now)

    def _apply_one(self, event: WatchEvent, row: int | None, now: float) -> None:
        """Apply any other event of one pod."""
        if event.type is EventType.BOOKMARK:
            return
        if row is not None:
            self.known.apply(event, row, now)
            return
        self._cluster.abnormal.pop(key_of(event.record), None)
        if event.type is not EventType.DELETED:
            self._registration.add([event], now)

    def _confirm(self, rows: npt.NDArray[np.int64], now: float) -> None:
        """Confirm our own binds from the store."""
        if len(rows):
            pods = self._cluster.pods
            step_pods(pods.state, rows, PodEvent.BIND)
            pods.started[rows] = now
            pods.log.extend(rows)
            self._cluster.changes.add_bound(rows.tolist())
