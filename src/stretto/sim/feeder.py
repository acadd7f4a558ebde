"""Writes a scenario's feed into a store in batches, so that an interrupted run can resume.

The store contains a marker: the scenario, the number of arrivals written and the scenario's time.
The marker is written after each batch, so a process that is killed in between writes at most one
batch again and gets "already exists". Pods that have ended are not created again.
"""

import hashlib
import heapq
from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD, SCALING_POLICY, Kind
from stretto.base.errors import InputError
from stretto.inputs.scenario.arrivals import ObjectArrival
from stretto.inputs.scenario.feed import Feed
from stretto.sim.submission.ephemeral import create_ephemeral_pvcs
from stretto.sim.submission.quotas import ArrivalQuotas
from stretto.sim.writes import check_written, parts_by_kind
from stretto.stores.store import Deletion, ListOptions, Patch, Store

MARKER: Final = ("kube-system", "stretto-run")
"""Namespace and name of the marker."""
AT_ONCE: Final = 2048
"""Objects written in one call, which is one transaction and one fsync of a durable store."""
_FORM: Final = 1


class FeedMarker(msgspec.Struct, frozen=True):
    """Progress of a run, as stored in the marker."""

    #: Name of the scenario.
    scenario: str
    #: Hash of the scenario's feed.
    identity: str
    #: Number of arrivals written.
    arrived: str = "0"
    #: Second of the scenario.
    elapsed: str = "0"
    #: Pods that quotas reject, as ``namespace/name``, separated by commas.
    refused: str = ""


class _FeedMarkerBody(msgspec.Struct, frozen=True):
    """The marker as a ConfigMap."""

    #: The progress.
    data: FeedMarker


class Feeder:
    """Writes a feed into a store in the order of time."""

    def __init__(self, feed: Feed, store: Store, scenario: str) -> None:
        """Create a feeder for an empty store, or for one with a run of the same scenario.

        Raises:
            InputError: the store contains other objects or another run.
        """
        #: Second of the scenario at which the run resumes; 0 for a new run.
        self.resumed_at: float = 0.0
        #: Number of arrivals written so far.
        self.arrived: int = 0
        #: Number of pods created so far.
        self.pods: int = 0
        self._feed = feed
        self._store = store
        self._scenario = scenario
        self._identity = identity_of(feed)
        self._applied = 0
        self._departures: list[tuple[float, str, str]] = []
        self._durations: dict[str, float] = {
            f"{each.namespace}/{each.name}": each.duration_s
            for each in feed.arrivals
            if each.duration_s is not None and each.kind is POD
        }
        self._begin()
        #: The quotas that arriving pods are charged to.
        self.quotas = ArrivalQuotas(store, feed.objects)
        self._resume_refused()

    @property
    def resumed(self) -> bool:
        """True if this resumes an interrupted run."""
        return self._known is not None

    def next_due(self) -> float:
        """Second of the scenario of the next arrival or departure; infinity for none."""
        arrivals = self._feed.arrivals
        arrival = arrivals[self.arrived].time_s if self.arrived < len(arrivals) else inf
        departure = self._departures[0][0] if self._departures else inf
        demands = self._feed.demands
        demand = demands[self._applied].time_s if self._applied < len(demands) else inf
        return min(arrival, departure, demand, self.quotas.next_due())

    def feed(self, elapsed: float) -> int:
        """Apply at most one batch of changes due by a second of the scenario; return its size."""
        deleted = self._delete_ended(elapsed)
        retried = self.quotas.retried(elapsed)
        self._create_pods(retried)
        scaled = self._apply_demand(elapsed)
        batch = self._due(elapsed)
        if batch:
            self._write(batch, elapsed)
            self.arrived += len(batch)
        if batch or retried:
            self._mark(elapsed)
        return deleted + len(retried) + scaled + len(batch)

    def started(self, pod: str, elapsed: float) -> None:
        """Start the run time of a pod (``namespace/name``) that was bound at this second."""
        duration = self._durations.get(pod)
        if duration is not None:
            space, _, name = pod.partition("/")
            heapq.heappush(self._departures, (elapsed + duration, space, name))

    @property
    def has_durations(self) -> bool:
        """True if any pod has a run time."""
        return bool(self._durations)

    # ------------------------------------------------------------ starting

    def _begin(self) -> None:
        """Resume at the marker, or start a new run; create the initial objects."""
        self._known = self._read_marker()
        if self._known is None:
            self._must_be_empty()
            self._create_marker()
        else:
            self.arrived = int(self._known.arrived)
            self.resumed_at = float(self._known.elapsed)
            kept_out = set(self._known.refused.split(","))
            arrived = [
                each
                for each in self._feed.arrivals[: self.arrived]
                if f"{each.namespace}/{each.name}" not in kept_out
            ]
            self.pods = sum(each.kind is POD for each in arrived)
            self._schedule_departures(arrived)
        self._create(self._feed.objects)

    def _resume_refused(self) -> None:
        """Continue with the pods that quotas had rejected before an interruption."""
        kept_out = set(self._known.refused.split(",")) if self._known else set()
        pods = [
            each
            for each in self._feed.arrivals[: self.arrived]
            if each.kind is POD and f"{each.namespace}/{each.name}" in kept_out
        ]
        self.quotas.restore(pods, self.resumed_at)

    def _read_marker(self) -> FeedMarker | None:
        record = self._store.get(CONFIG_MAP, *MARKER)
        if record is None:
            return None
        marker = msgspec.json.decode(record.body, type=_FeedMarkerBody).data
        if marker.identity != self._identity:
            found = f"a run of scenario {marker.scenario}"
            if marker.scenario == self._scenario:
                found += " with other nodes or pods"
            hint = "name another file, or remove this one to start again"
            raise InputError("--store", found, f"a run of scenario {self._scenario}", hint)
        return marker

    def _must_be_empty(self) -> None:
        """Refuse a store that contains objects of another origin."""
        for kind in (NODE, POD):
            if self._store.list(kind, ListOptions(limit=1)).records:
                found = f"{kind.plural} that no run of a scenario has created"
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

    # ------------------------------------------------------------ running

    def _due(self, elapsed: float) -> Sequence[ObjectArrival]:
        """The next arrivals that are due, at most one batch."""
        arrivals, first = self._feed.arrivals, self.arrived
        last = first
        while last < len(arrivals) and last - first < AT_ONCE and arrivals[last].time_s <= elapsed:
            last += 1
        return arrivals[first:last]

    def _write(self, batch: Sequence[ObjectArrival], elapsed: float) -> None:
        """Create a batch: PodGroups first, so that they exist before their pods."""
        groups = [(each.kind, each.body) for each in batch if each.kind is not POD]
        self._create(groups)
        pods = (each for each in batch if each.kind is POD)
        self._create_pods(self.quotas.admitted(pods, elapsed))

    def _create_pods(self, pods: Sequence[ObjectArrival]) -> None:
        """Create pods, and schedule their departures."""
        self._create([(POD, each.body) for each in pods])
        self.pods += len(pods)
        self._schedule_departures(pods)

    def _schedule_departures(self, batch: Sequence[ObjectArrival]) -> None:
        for each in batch:
            if each.departure_s is not None and each.kind is POD:
                heapq.heappush(self._departures, (each.departure_s, each.namespace, each.name))

    def _create(self, objects: Sequence[tuple[Kind, bytes]]) -> None:
        """Create objects by kind, in the order of first occurrence; existing ones are skipped."""
        for kind, part in parts_by_kind(objects, AT_ONCE):
            replies = self._store.create(kind, part)
            check_written(replies)
            if kind == POD:
                create_ephemeral_pvcs(self._store, replies)

    def _delete_ended(self, elapsed: float) -> int:
        """Delete the pods that have ended, at most one batch; returns the count."""
        deletions: list[Deletion] = []
        while self._departures and self._departures[0][0] <= elapsed and len(deletions) < AT_ONCE:
            _, space, name = heapq.heappop(self._departures)
            deletions.append(Deletion(space, name))
        if deletions:
            check_written(self._store.delete(POD, deletions))
        return len(deletions)

    def _apply_demand(self, elapsed: float) -> int:
        """Set the replicas of policies for a second of the scenario; return their number.

        A resumed run sets them again.
        """
        demands, first = self._feed.demands, self._applied
        while self._applied < len(demands) and demands[self._applied].time_s <= elapsed:
            self._applied += 1
        wanted = {(e.namespace, e.policy): e.replicas for e in demands[first : self._applied]}
        if wanted:
            changes = [Patch(*key, {"spec": {"replicas": n}}) for key, n in wanted.items()]
            check_written(self._store.patch(SCALING_POLICY, changes))
        return len(wanted)

    def _mark(self, elapsed: float) -> None:
        """Update the marker."""
        data = {
            "arrived": str(self.arrived),
            "elapsed": f"{min(elapsed, 1e12):.3f}",
            "refused": ",".join(self.quotas.refused),
        }
        patch = Patch(*MARKER, {"data": data})
        check_written(self._store.patch(CONFIG_MAP, [patch]))

    def pause(self, elapsed: float) -> None:
        """Store the scenario's time before the process ends."""
        self._mark(elapsed)


def identity_of(feed: Feed) -> str:
    """A hash of a scenario's feed: all objects and times."""
    digest = hashlib.blake2b(str(_FORM).encode(), digest_size=16)
    for kind, body in feed.objects:
        digest.update(kind.kind.encode() + body)
    for each in feed.arrivals:
        times = f"{each.time_s} {each.departure_s} {each.duration_s}"
        digest.update(times.encode() + each.body)
    for demand in feed.demands:
        digest.update(msgspec.json.encode(demand))
    return digest.hexdigest()
