"""Jobs of a trace on a fleet: they arrive on the host, run in members, and end."""

import heapq
from collections.abc import Callable
from math import inf

from stretto.api.wire.kinds import DEPLOYMENT, POD, POD_GROUP
from stretto.base.clock import parse_timestamp
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.comparison.outcomes import JOB, JobOutcome
from stretto.sim.fleet.comparison.trace import TraceJob
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.manifests import put
from stretto.sim.fleet.member import EmbeddedMember
from stretto.stores.store import Deletion, Record


class TraceRunner:
    """Creates the Deployment of each job at its arrival, and deletes it at its end."""

    def __init__(
        self, fleet: EmbeddedFleet, jobs: tuple[TraceJob, ...], ended: Callable[[str], None]
    ) -> None:
        """Start now.

        Args:
            fleet: the fleet.
            jobs: the jobs by arrival.
            ended: called with the name of each job that ends, before its pods are deleted.
        """
        self._fleet = fleet
        self._epoch = fleet.clock.now()
        self._coming = list(reversed(jobs))
        self._waiting: dict[str, TraceJob] = {}
        self._ends: list[tuple[float, str]] = []
        self._ended = ended
        self._gone: set[str] = set()
        self._gangs: set[str] = set()
        self._waits: list[float] = []
        self._versions: dict[str, int] = {}
        self._started: dict[str, dict[str, tuple[str, float]]] = {}
        self._endless = sum(_is_endless(each) for each in jobs)
        self._count = len(jobs)

    @property
    def is_done(self) -> bool:
        """True if every job with an end has ended."""
        return not self._coming and len(self._gone) + self._endless >= self._count

    def next_due(self) -> float:
        """Seconds from the start to the next arrival or end; infinity for none."""
        arrival = self._coming[-1].arrival_s if self._coming else inf
        return min(arrival, self._ends[0][0] if self._ends else inf)

    def advance(self, now: float) -> None:
        """Process due arrivals and ends.

        Args:
            now: seconds since the start, as ``next_due`` returns them.
        """
        self._note_starts()
        while self._ends and self._ends[0][0] <= now:
            self._end(heapq.heappop(self._ends)[1])
        while self._coming and self._coming[-1].arrival_s <= now:
            self._arrive(self._coming.pop())

    def outcome(self) -> JobOutcome:
        """Figures of the jobs so far."""
        waits = self._waits
        mean = round(sum(waits) / len(waits), 1) if waits else None
        return JobOutcome(self._count - len(self._coming), len(waits), len(self._gone), mean)

    # ---------------------------------------------------------------- inside

    def _arrive(self, job: TraceJob) -> None:
        group = job.pod_group()
        if group is not None:
            put(self._fleet.host, POD_GROUP, group)
            self._gangs.add(job.name)
        put(self._fleet.host, DEPLOYMENT, job.deployment())
        self._waiting[job.name] = job
        if job.departure_s < inf:
            heapq.heappush(self._ends, (job.departure_s, job.name))

    def _end(self, name: str) -> None:
        if name in self._gone:
            return
        self._gone.add(name)
        self._waiting.pop(name, None)
        self._ended(name)
        self._fleet.host.delete(DEPLOYMENT, [Deletion("default", name)])
        if name in self._gangs:
            self._fleet.host.delete(POD_GROUP, [Deletion("default", name)])

    def _note_starts(self) -> None:
        """Record the jobs whose pods all run, with the start of the last pod."""
        read = [self._read(name, member) for name, member in self._fleet.members.items()]
        if not any(read):
            return
        starts: dict[str, list[float]] = {}
        for found in self._started.values():
            for name, at in found.values():
                starts.setdefault(name, []).append(at)
        for name, job in list(self._waiting.items()):
            if len(starts.get(name, ())) >= job.pods:
                self._start_job(job, max(starts[name]))

    def _start_job(self, job: TraceJob, at: float) -> None:
        """Record the time since which all pods of a job run."""
        del self._waiting[job.name]
        self._waits.append(max(0.0, at - job.arrival_s))
        if job.duration_s < inf:
            heapq.heappush(self._ends, (at + job.duration_s, job.name))

    def _read(self, cluster: str, member: EmbeddedMember) -> bool:
        """Read the running pods of a cluster; true if any may have changed."""
        if self._versions.get(cluster) == member.store.version:
            return False
        self._versions[cluster] = member.store.version
        before = self._started.get(cluster, {})
        now = {}
        for each in member.store.list(POD).records:
            if each.node and not each.deleting:
                found = before.get(each.uid) or self._started_pod(each)
                if found is not None:
                    now[each.uid] = found
        self._started[cluster] = now
        return True

    def _started_pod(self, record: Record) -> tuple[str, float] | None:
        """The job of a pod and its start; ``None`` if it has not started."""
        pod = StoredObject(record)
        started, job = pod.status.get("startTime"), pod.labels.get(JOB)
        if started is None or job is None:
            return None
        return job, parse_timestamp(started) - self._epoch


def _is_endless(job: TraceJob) -> bool:
    return job.duration_s == inf and job.departure_s == inf
