"""The pump: applies the store's changes to the cluster, each once and in order.

One reflector follows each kind (``stores.reflector``). An idle pump polls only kinds with
possible watch events: the store marks them as soon as something is committed or received.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from stretto.api.kinds.table import watched_kinds
from stretto.api.types.handover_annotations import KUBELET
from stretto.api.wire.kinds import (
    NODE,
    POD,
    Kind,
)
from stretto.base.failpoints import Failpoint, no_failpoint
from stretto.state.cluster.cluster import Cluster
from stretto.state.ingest.by_kind import APPLY, APPLY_FORMS
from stretto.state.ingest.ingest import Ingest
from stretto.state.ingest.queues import census
from stretto.state.ingest.whole_objects import apply_objects, referenced_kinds
from stretto.state.nodes.table import MANAGED_BY
from stretto.stores.reflector import Reflector, ReflectorSettings, follow
from stretto.stores.store import EventType, Listing, Record, Store, WatchEvent

COMPARE_EVERY: Final = 300.0
"""Seconds between comparisons with a fresh list, which repair lost events."""

Apply = Callable[[Sequence[WatchEvent], float], None]
"""Applies events of one kind at a clock time."""


class KindFeed:
    """Target of the changes of one kind."""

    def __init__(
        self,
        cluster: Cluster,
        kind: Kind,
        apply: Apply,
        known: Callable[[], Mapping[str, Record]],
    ) -> None:
        """Apply changes with ``apply``; ``known`` returns the objects that the cluster has."""
        #: Applies changes to the cluster at a clock time.
        self.apply = apply
        #: Returns the last record of each object, by uid.
        self.known = known
        self._cluster = cluster
        self._kind = kind

    def listed(self, listing: Listing) -> None:
        """Drop warnings about objects that are not in the list."""
        abnormal, word = self._cluster.abnormal, f"{self._kind.kind.lower()} "
        noted = [key for key in abnormal if key.startswith(word)]
        if noted:
            present = {word + f"{r.namespace}/{r.name}".lstrip("/") for r in listing.records}
            for key in noted:
                if key not in present:
                    del abnormal[key]


class RecordsByName(KindFeed):
    """A feed that keeps the last record of each name, and drops events about former objects."""

    def __init__(self, cluster: Cluster, kind: Kind, apply: Apply) -> None:
        """Apply changes with ``apply``."""
        records: dict[str, Record] = {}
        super().__init__(
            cluster,
            kind,
            lambda events, now: apply(_follow(records, events), now),
            lambda: _by_uid(records),
        )


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
        """Create a pump that has read nothing; the first ``poll`` lists.

        Args:
            store: the store to read.
            cluster: the cluster to update.
            failpoint: called between a poll and its application, and after each list.
            compare_every: seconds between comparisons with a fresh list; infinity if the store
                cannot lose an event.
            kinds: further kinds to read besides nodes, pods, groups and priorities; they are read
                before the pods.
        """
        self._store = store
        self._cluster = cluster
        self._ingest = Ingest(cluster)
        settings = ReflectorSettings(compare_every, "pump", failpoint)
        self._feeds = [
            Reflector(store, kind, feed, settings) for kind, feed in self._targets(kinds)
        ]
        #: True if every kind has been listed once: before that, no decision is allowed.
        self.synced = False
        self._unsubscribe = follow(store, self._feeds)

    @property
    def applied(self) -> dict[str, int]:
        """Events applied, by kind name."""
        return {feed.kind.kind: feed.applied for feed in self._feeds}

    @property
    def relists(self) -> dict[str, int]:
        """Number of lists after the first one, by kind name."""
        return {feed.kind.kind: feed.relists for feed in self._feeds if feed.relists}

    def poll(self, now: float, limit: int = 4096) -> int:
        """Apply the next changes; returns the number of events read.

        Raises:
            WentBackError: resource versions went back; start again with an empty cluster.
        """
        read = 0
        for feed in self._feeds:
            if feed.is_dirty or now >= feed.list_at or feed.watch is None:
                read += feed.poll(now, limit)
        self.synced = None not in [feed.watch for feed in self._feeds]
        return read

    def has_news(self, now: float) -> bool:
        """Return whether a watch may have events, or a comparison is due."""
        for feed in self._feeds:  # no generator: an idle step should call few functions
            if feed.is_dirty or feed.watch is None or now >= feed.list_at:
                return True
        return False

    def next_due(self) -> float:
        """Clock time of the next comparison."""
        return min(feed.list_at for feed in self._feeds)

    def census(self) -> None:
        """Report all pods on nodes once more, because a part of the cluster starts to count them.

        Pods missing from a list that is older than the last events are read one by one.
        """
        pods = self._cluster.pods
        unread = census(self._cluster, self._store.list(POD).records)
        found = (self._store.get(POD, pods.namespace[row], pods.name[row]) for row in unread)
        census(self._cluster, [record for record in found if record is not None])

    def close(self) -> None:
        """Stop watching."""
        self._unsubscribe()
        self.synced = False
        for feed in self._feeds:
            feed.close()

    def _targets(self, kinds: Iterable[Kind]) -> list[tuple[Kind, KindFeed]]:
        """The feeds in the order in which they are polled: kinds that pods refer to first."""
        feeds = {kind: self._plain_feed(kind) for kind in watched_kinds()}
        feeds[NODE] = KindFeed(self._cluster, NODE, self._apply_nodes, self._known_nodes)
        pods = KindFeed(self._cluster, POD, self._ingest.pods, self._known_pods)
        return [
            *((kind, feed) for kind, feed in feeds.items() if kind != POD),
            *((kind, self._further_feed(kind)) for kind in kinds),
            (POD, pods),
        ]

    def _further_feed(self, kind: Kind) -> KindFeed:
        """The feed of a kind that is not always watched."""
        return self._plain_feed(kind) if kind in APPLY_FORMS else self._object_feed(kind)

    def _plain_feed(self, kind: Kind) -> KindFeed:
        """The feed of a kind other than nodes and pods."""
        cluster, ingest = self._cluster, self._ingest
        apply = APPLY_FORMS[kind] if kind in APPLY_FORMS else APPLY[kind]
        return RecordsByName(cluster, kind, lambda events, now: apply(cluster, ingest, events, now))

    def _apply_nodes(self, events: Sequence[WatchEvent], now: float) -> None:
        classes = self._cluster.classes
        counted = classes.by_image
        self._ingest.nodes(events)
        if classes.by_image and not counted and len(self._cluster.pods):
            self._ingest.reread(self._store.list(POD).records, now)

    def _object_feed(self, kind: Kind) -> KindFeed:
        """Feed of a kind whose objects are stored completely."""
        cluster = self._cluster
        return KindFeed(
            cluster,
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


def _follow(known: dict[str, Record], events: Sequence[WatchEvent]) -> list[WatchEvent]:
    """Keep the last record of each name; a deletion of an earlier object of the name is dropped."""
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
