"""The pump: from the store's watches into the cluster, each change once and in order.

It lists, then watches from the version that the list reflects. Events at or below the version seen
last are old news (doubled or stale) and are dropped. When a watch's history is gone, or the
periodic comparison is due, it lists afresh: what the list lacks has gone, what it has is applied
like any change. A list that is older than what has been seen is not believed; where every list is
for long, the server itself has gone back (it was restored from a backup), and nothing that is known
here may be relied upon.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, lt
from typing import Final

from stretto.api.types.handover_annotations import KUBELET
from stretto.api.wire.kinds import (
    CUSTOM_NODE_RESOURCE,
    MOVEMENT,
    NM_NODE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    WORKLOAD_POD_GROUP,
    Kind,
)
from stretto.base.errors import TooOldError, WentBackError
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.ingest import Ingest
from stretto.state.ingest.node_reports import apply_movements, apply_reports
from stretto.state.ingest.nodes_and_groups import apply_workload_groups
from stretto.state.ingest.queues import apply_queues, census
from stretto.state.ingest.whole_objects import apply_objects, referenced_kinds
from stretto.state.nodes.table import MANAGED_BY
from stretto.stores.store import EventType, Listing, Record, Store, Watch, WatchEvent

COMPARE_EVERY: Final = 300.0
"""Seconds between comparisons of what is known with a fresh list: a lost event heals by then."""
LIST_BATCH: Final = 1 << 13
"""Records of a list applied at once: a million of them must not stand in memory twice."""
RETRY_LIST_AFTER: Final = 1.0
"""Seconds before another try when a list was refused or too old."""
WENT_BACK_AFTER: Final = 15.0
"""Seconds of lists that are all too old, after which the server has gone back for good."""
WENT_BACK_TIMES: Final = 8
"""And so many of them."""

Apply = Callable[[Sequence[WatchEvent], float], None]
"""Applies events of one kind at a clock time."""


class _KindWatch:
    """One kind's watch and how far it has come."""

    def __init__(self, kind: Kind, apply: Apply, known: Callable[[], dict[str, Record]]) -> None:
        #: The kind.
        self.kind = kind
        #: Where its events go.
        self.apply = apply
        #: Uids and last records of what is believed to exist.
        self.known = known
        #: The open watch, or ``None`` before the first list.
        self.watch: Watch | None = None
        #: Version seen last.
        self.version = 0
        #: Clock time of the next fresh list.
        self.list_at = 0.0
        #: Lists in a row that were older than what was seen.
        self.behind = 0
        #: Clock time of the first of them.
        self.behind_since = 0.0


class Pump:
    """Feeds a cluster from a store."""

    def __init__(
        self,
        store: Store,
        cluster: Cluster,
        failpoint: Failpoint = no_failpoint,
        compare_every: float = COMPARE_EVERY,
        kinds: Iterable[Kind] = (),
    ) -> None:
        """A pump that has seen nothing yet; ``poll`` lists first.

        ``compare_every`` is in seconds; infinity where the store cannot lose an event. ``kinds``
        are read besides nodes, pods, groups and priorities, before the pods.
        """
        #: Events applied, by kind name.
        self.applied: dict[str, int] = {}
        #: Fresh lists made after the first, by kind name.
        self.relists: dict[str, int] = {}
        self._store = store
        self._cluster = cluster
        self._failpoint = failpoint
        self._compare_every = compare_every
        self._ingest = Ingest(cluster)
        self._groups: dict[str, Record] = {}
        self._priorities: dict[str, Record] = {}
        self._reports: dict[str, Record] = {}
        self._managers: dict[str, Record] = {}
        self._movements: dict[str, Record] = {}
        self._queues: dict[str, Record] = {}
        self._workloads: dict[str, Record] = {}
        self._feeds = [
            _KindWatch(PRIORITY_CLASS, self._apply_priorities, lambda: _by_uid(self._priorities)),
            _KindWatch(NODE, self._apply_nodes, self._known_nodes),
            _KindWatch(NM_NODE, self._apply_managers, lambda: _by_uid(self._managers)),
            _KindWatch(CUSTOM_NODE_RESOURCE, self._apply_reports, lambda: _by_uid(self._reports)),
            _KindWatch(QUEUE, self._apply_queues, lambda: _by_uid(self._queues)),
            _KindWatch(WORKLOAD_POD_GROUP, self._apply_workloads, lambda: _by_uid(self._workloads)),
            _KindWatch(MOVEMENT, self._apply_movements, lambda: _by_uid(self._movements)),
            _KindWatch(POD_GROUP, self._apply_groups, lambda: _by_uid(self._groups)),
            *map(self._object_feed, kinds),
            _KindWatch(POD, self._ingest.pods, self._known_pods),
        ]

    @property
    def synced(self) -> bool:
        """Whether every kind has been listed once: no decision may be taken before."""
        return all(feed.watch is not None for feed in self._feeds)

    def poll(self, now: float, limit: int = 4096) -> int:
        """Apply what has come; returns how many events were.

        Raises:
            WentBackError: the versions have gone back; begin anew, with nothing known.
        """
        return sum(self._poll(feed, now, limit) for feed in self._feeds)

    def next_due(self) -> float:
        """Clock time of the next comparison."""
        return min(feed.list_at for feed in self._feeds)

    def census(self) -> None:
        """Tell once more of all pods on nodes: somebody has begun to count what they hold.

        What a list that is older than the last events does not have is read pod by pod.
        """
        pods = self._cluster.pods
        unread = census(self._cluster, self._store.list(POD).records)
        found = (self._store.get(POD, pods.namespace[row], pods.name[row]) for row in unread)
        census(self._cluster, [record for record in found if record is not None])

    def close(self) -> None:
        """Stop watching."""
        for feed in self._feeds:
            if feed.watch is not None:
                feed.watch.close()
                feed.watch = None

    def _poll(self, feed: _KindWatch, now: float, limit: int) -> int:
        if feed.watch is None or now >= feed.list_at:
            return self._relist(feed, now)
        try:
            events = feed.watch.poll(limit)
        except TooOldError:
            # A list that was behind has its own time to be asked for again.
            return 0 if feed.behind else self._relist(feed, now)
        if not events:
            return 0
        self._failpoint("pump.polled")
        events = _news(events, feed.version)
        if events:
            feed.version = events[-1].record.version
            feed.apply(events, now)
            self._count(feed, len(events))
        return len(events)

    def _relist(self, feed: _KindWatch, now: float) -> int:
        """List afresh, apply the difference, and watch from there."""
        listing = self._store.list(feed.kind)
        if listing.version < feed.version:
            _note_behind(feed, listing, now)
            return 0
        feed.behind = 0
        if feed.watch is not None:
            feed.watch.close()
            self.relists[feed.kind.kind] = self.relists.get(feed.kind.kind, 0) + 1
        applied = 0
        for events in _difference(feed.known(), listing):
            feed.apply(events, now)
            applied += len(events)
        self._forget_abnormal(feed.kind, listing)
        feed.version = listing.version
        feed.watch = self._store.watch(feed.kind, listing.version)
        feed.list_at = now + self._compare_every
        self._failpoint("pump.listed")
        self._count(feed, applied)
        return applied

    def _forget_abnormal(self, kind: Kind, listing: Listing) -> None:
        """Nothing is wrong any more with objects that a list does not have."""
        abnormal, word = self._cluster.abnormal, f"{kind.kind.lower()} "
        noted = [key for key in abnormal if key.startswith(word)]
        if noted:
            present = {word + f"{r.namespace}/{r.name}".lstrip("/") for r in listing.records}
            for key in noted:
                if key not in present:
                    del abnormal[key]

    def _count(self, feed: _KindWatch, events: int) -> None:
        self.applied[feed.kind.kind] = self.applied.get(feed.kind.kind, 0) + events

    def _apply_nodes(self, events: Sequence[WatchEvent], now: float) -> None:
        classes = self._cluster.classes
        told = classes.by_image
        self._ingest.nodes(events)
        if classes.by_image and not told and len(self._cluster.pods):
            self._ingest.reread(self._store.list(POD).records, now)

    def _apply_groups(self, events: Sequence[WatchEvent], _: float) -> None:
        self._ingest.groups(_follow(self._groups, events))

    def _apply_movements(self, events: Sequence[WatchEvent], _: float) -> None:
        apply_movements(self._cluster, _follow(self._movements, events))

    def _apply_managers(self, events: Sequence[WatchEvent], _: float) -> None:
        self._ingest.managers.apply(_follow(self._managers, events))

    def _apply_reports(self, events: Sequence[WatchEvent], _: float) -> None:
        apply_reports(self._cluster, _follow(self._reports, events))

    def _apply_workloads(self, events: Sequence[WatchEvent], _: float) -> None:
        apply_workload_groups(self._cluster, _follow(self._workloads, events))

    def _apply_queues(self, events: Sequence[WatchEvent], _: float) -> None:
        apply_queues(self._cluster, _follow(self._queues, events))

    def _apply_priorities(self, events: Sequence[WatchEvent], _: float) -> None:
        self._ingest.priorities(_follow(self._priorities, events))

    def _object_feed(self, kind: Kind) -> _KindWatch:
        """The feed of a kind that goes to the table of objects."""
        cluster = self._cluster
        return _KindWatch(
            kind,
            lambda events, _: apply_objects(cluster, kind, events),
            lambda: referenced_kinds(cluster.objects, kind),
        )

    def _known_nodes(self) -> dict[str, Record]:
        nodes = self._cluster.nodes
        return {
            nodes.uids[slot]: Record(
                NODE, "", name, nodes.uids[slot], int(nodes.versions[slot] or 0), b""
            )
            for name, slot in nodes.by_name.items()
            if nodes.managers[slot] & MANAGED_BY[KUBELET]
        }

    def _known_pods(self) -> dict[str, Record]:
        pods = self._cluster.pods
        return {
            pods.uid[row]: Record(
                POD, pods.namespace[row], pods.name[row], pods.uid[row], int(pods.version[row]), b""
            )
            for row in pods.rows().tolist()
        }


def _difference(known: Mapping[str, Record], listing: Listing) -> Iterator[list[WatchEvent]]:
    """A list as batches of events: what is gone first, then what is new or newer, by age.

    Stores list by name, but who came first is first in a queue, and versions tell that.
    """
    if known:
        present = {record.uid for record in listing.records}
        gone = [
            WatchEvent(EventType.DELETED, record)
            for uid, record in known.items()
            if uid not in present
        ]
        if gone:
            yield gone
    records = sorted(listing.records, key=attrgetter("version"))
    for first in range(0, len(records), LIST_BATCH):
        changed = [
            WatchEvent(EventType.MODIFIED if record.uid in known else EventType.ADDED, record)
            for record in records[first : first + LIST_BATCH]
            if record.uid not in known or record.version > known[record.uid].version
        ]
        if changed:
            yield changed


def _follow(known: dict[str, Record], events: Sequence[WatchEvent]) -> list[WatchEvent]:
    """Keep the last record of each name; what is said of a former bearer counts no more."""
    counting = []
    for event in events:
        record = event.record
        key = f"{record.namespace}/{record.name}"
        if event.type is not EventType.DELETED:
            known[key] = record
        elif key in known and known[key].uid == record.uid:
            del known[key]
        else:
            continue
        counting.append(event)
    return counting


def _by_uid(known: Mapping[str, Record]) -> dict[str, Record]:
    return {record.uid: record for record in known.values()}


def _note_behind(feed: _KindWatch, listing: Listing, now: float) -> None:
    """A list that is older than what was seen: another try soon, but not for ever."""
    feed.list_at = now + RETRY_LIST_AFTER
    if not feed.behind:
        feed.behind_since = now
    feed.behind += 1
    if feed.behind >= WENT_BACK_TIMES and now - feed.behind_since >= WENT_BACK_AFTER:
        raise WentBackError(
            f"{feed.kind.resource}: the server's versions went back from {feed.version} to "
            f"{listing.version}: it was restored from an older state"
        )


def _news(events: Sequence[WatchEvent], version: int) -> list[WatchEvent]:
    """Events newer than a version, each version once."""
    versions = [event.record.version for event in events]
    if versions[0] > version and all(map(lt, versions, versions[1:])):
        return list(events)
    news = []
    for event in events:
        if event.record.version > version:
            news.append(event)
            version = event.record.version
    return news
