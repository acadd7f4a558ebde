"""A scenario's feed into a store, piece by piece, so that an interrupted run can go on.

The store itself holds a marker: which scenario feeds it, how many arrivals have been written and
how far the scenario's time has come. The marker is written after each batch, so a process that is
killed in between writes at most one batch again, and finds that it exists. What has left does not
come again.
"""

import hashlib
import heapq
from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD, Kind
from stretto.base.errors import InputError, UnreachableError
from stretto.inputs.scenario.arrivals import ObjectArrival
from stretto.inputs.scenario.feed import Feed
from stretto.stores.store import (
    Deletion,
    ListOptions,
    Patch,
    Replies,
    StatusReason,
    Store,
    WriteOutcome,
)

MARKER: Final = ("kube-system", "stretto-run")
"""Namespace and name of the marker."""
AT_ONCE: Final = 2048
"""Objects written in one call: one transaction, and one fsync, of a durable store."""
_FORM: Final = 1


class FeedMarker(msgspec.Struct, frozen=True):
    """How far a run has come, as the marker says."""

    #: Name of the scenario.
    scenario: str
    #: Hash of everything that the scenario feeds.
    identity: str
    #: Arrivals written.
    arrived: str = "0"
    #: Seconds of the scenario's time.
    elapsed: str = "0"


class _FeedMarkerBody(msgspec.Struct, frozen=True):
    """The marker as an object."""

    #: What it says.
    data: FeedMarker


class Feeder:
    """Writes a feed into a store in the order of its time."""

    def __init__(self, feed: Feed, store: Store, scenario: str) -> None:
        """A feeder for a store that is empty, or that holds the same scenario's run.

        Raises:
            InputError: the store holds something else.
        """
        #: Seconds of the scenario's time at which it goes on; 0 for a new run.
        self.resumed_at: float = 0.0
        #: Arrivals written so far.
        self.arrived: int = 0
        #: Pods written so far.
        self.pods: int = 0
        self._feed = feed
        self._store = store
        self._scenario = scenario
        self._identity = identity_of(feed)
        self._leaving: list[tuple[float, str, str]] = []
        self._durations: dict[str, float] = {
            f"{each.namespace}/{each.name}": each.duration_s
            for each in feed.arrivals
            if each.duration_s is not None and each.kind is POD
        }
        self._begin()

    @property
    def resumed(self) -> bool:
        """Whether it goes on with a run that was interrupted."""
        return self._known is not None

    def next_due(self) -> float:
        """Second of the scenario at which something comes or leaves; infinity for never."""
        arrivals = self._feed.arrivals
        coming = arrivals[self.arrived].time_s if self.arrived < len(arrivals) else inf
        leaving = self._leaving[0][0] if self._leaving else inf
        return min(coming, leaving)

    def feed(self, elapsed: float) -> int:
        """Write what is due by a second of the scenario, at most one batch; returns how much."""
        left = self._leave(elapsed)
        batch = self._due(elapsed)
        if batch:
            self._write(batch)
            self.arrived += len(batch)
            self.pods += sum(each.kind is POD for each in batch)
            self._mark(elapsed)
        return left + len(batch)

    def started(self, pod: str, elapsed: float) -> None:
        """A pod (``namespace/name``) is on a node since this second: its time runs."""
        duration = self._durations.get(pod)
        if duration is not None:
            space, _, name = pod.partition("/")
            heapq.heappush(self._leaving, (elapsed + duration, space, name))

    @property
    def has_durations(self) -> bool:
        """Whether any pod ends some time after its start."""
        return bool(self._durations)

    # ------------------------------------------------------------ beginning

    def _begin(self) -> None:
        """Go on where the marker says, or write what is there before the start."""
        self._known = self._read_marker()
        if self._known is None:
            self._must_be_empty()
            self._create_marker()
        else:
            self.arrived = int(self._known.arrived)
            self.resumed_at = float(self._known.elapsed)
            arrived = self._feed.arrivals[: self.arrived]
            self.pods = sum(each.kind is POD for each in arrived)
            self._schedule_departures(arrived)
        self._create(self._feed.objects)

    def _read_marker(self) -> FeedMarker | None:
        record = self._store.get(CONFIG_MAP, *MARKER)
        if record is None:
            return None
        marker = msgspec.json.decode(record.body, type=_FeedMarkerBody).data
        if marker.identity != self._identity:
            found = f"a run of scenario {marker.scenario}"
            if marker.scenario == self._scenario:
                found += " with other nodes or pods"
            hint = "name another file, or remove this one to start anew"
            raise InputError("--store", found, f"a run of scenario {self._scenario}", hint)
        return marker

    def _must_be_empty(self) -> None:
        """A store that somebody else has filled is not written to."""
        for kind in (NODE, POD):
            if self._store.list(kind, ListOptions(limit=1)).records:
                found = f"{kind.plural} that no run of a scenario has put there"
                raise InputError("--store", found, "an empty store", "name another file")

    def _create_marker(self) -> None:
        space, name = MARKER
        data = msgspec.to_builtins(FeedMarker(self._scenario, self._identity))
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": space, "name": name},
            "data": data,
        }
        check_written(self._store.create(CONFIG_MAP, [msgspec.json.encode(body)]))

    # ------------------------------------------------------------ going on

    def _due(self, elapsed: float) -> Sequence[ObjectArrival]:
        """The next arrivals that are due, at most one batch."""
        arrivals, first = self._feed.arrivals, self.arrived
        last = first
        while last < len(arrivals) and last - first < AT_ONCE and arrivals[last].time_s <= elapsed:
            last += 1
        return arrivals[first:last]

    def _write(self, batch: Sequence[ObjectArrival]) -> None:
        """Groups first, so that their pods find them."""
        groups = [(each.kind, each.body) for each in batch if each.kind is not POD]
        self._create(groups)
        self._create([(POD, each.body) for each in batch if each.kind is POD])
        self._schedule_departures(batch)

    def _schedule_departures(self, batch: Sequence[ObjectArrival]) -> None:
        for each in batch:
            if each.departure_s is not None and each.kind is POD:
                heapq.heappush(self._leaving, (each.departure_s, each.namespace, each.name))

    def _create(self, objects: Sequence[tuple[Kind, bytes]]) -> None:
        """Write objects, kind by kind in the order of first sight; what exists is fine."""
        by_kind: dict[Kind, list[bytes]] = {}
        for kind, body in objects:
            by_kind.setdefault(kind, []).append(body)
        for kind, bodies in by_kind.items():
            for low in range(0, len(bodies), AT_ONCE):
                check_written(self._store.create(kind, bodies[low : low + AT_ONCE]))

    def _leave(self, elapsed: float) -> int:
        """Delete the pods whose time is over."""
        deletions: list[Deletion] = []
        while self._leaving and self._leaving[0][0] <= elapsed and len(deletions) < AT_ONCE:
            _, space, name = heapq.heappop(self._leaving)
            deletions.append(Deletion(space, name))
        if deletions:
            check_written(self._store.delete(POD, deletions))
        return len(deletions)

    def _mark(self, elapsed: float) -> None:
        """Note how far it has come."""
        data = {"arrived": str(self.arrived), "elapsed": f"{min(elapsed, 1e12):.3f}"}
        patch = Patch(*MARKER, {"data": data})
        check_written(self._store.patch(CONFIG_MAP, [patch]))

    def pause(self, elapsed: float) -> None:
        """Note how far the time has come, before the run ends."""
        self._mark(elapsed)


def identity_of(feed: Feed) -> str:
    """A hash of everything that a scenario feeds: what comes, and when."""
    digest = hashlib.blake2b(str(_FORM).encode(), digest_size=16)
    for kind, body in feed.objects:
        digest.update(kind.kind.encode() + body)
    for each in feed.arrivals:
        times = f"{each.time_s} {each.departure_s} {each.duration_s}"
        digest.update(times.encode() + each.body)
    return digest.hexdigest()


def check_written(replies: Replies) -> None:
    """Every write went through, or says that it had been done before.

    Raises:
        InputError: the store says that an object is malformed.
        UnreachableError: the store did not take it, or does not say whether it did.
    """
    for reply in replies:
        done = reply.code in (StatusReason.ALREADY_EXISTS, StatusReason.NOT_FOUND)
        if reply.outcome is not WriteOutcome.OK and not done:
            reason = reply.message or reply.code.value or reply.outcome.value
            if reply.code is StatusReason.INVALID:
                expected = f"objects that a store takes ({reason})"
                raise InputError("the scenario", None, expected, "mend that object")
            hint = "mend it and start the run again: it goes on where it stopped"
            raise UnreachableError("the store", reason, hint)
