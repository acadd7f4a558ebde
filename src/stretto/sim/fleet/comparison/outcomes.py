"""Results of a fleet under one policy: samples during the run, and their sums."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.wire.kinds import NODE, POD
from stretto.api.wire.quantity import amounts
from stretto.federation.objects.demand import request_of
from stretto.federation.scheduling.resources import CPU, GPU
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.member import EmbeddedMember
from stretto.stores.store import Record

JOB: Final = "stretto.dev/job"
"""Label of the pods of a job of a trace."""


class FleetSample(msgspec.Struct, frozen=True):
    """A fleet at one moment; pods in lost clusters do not count."""

    #: Seconds since the start.
    second: float
    #: Pods with a node.
    running: int
    #: Pods without a node.
    pending: int
    #: Requested share of the CPU or of the GPUs, whichever is larger, by cluster.
    filled: dict[str, float]


class JobOutcome(msgspec.Struct, frozen=True):
    """Figures of the jobs of a trace."""

    #: Jobs that arrived.
    arrived: int
    #: Number of jobs whose pods all ran at the same time.
    started: int
    #: Jobs that ended.
    ended: int
    #: Mean seconds from the arrival to the start of the last pod; ``None`` without a start.
    mean_wait_s: float | None


class PolicyOutcome(msgspec.Struct, frozen=True):
    """A fleet under one policy."""

    #: The policy.
    policy: str
    #: Running pods at the end, in clusters that answer.
    running: int
    #: Pending pods at the end.
    pending: int
    #: Mean number of pending pods.
    mean_pending: float
    #: Pods that were deleted by a move or a scale-down; the pods of ended jobs do not count.
    moves: int
    #: Requested share of the CPU or of the GPUs at the end, whichever is larger, by cluster that
    #: answers.
    filled: dict[str, float]
    #: Mean of this share over the run.
    mean_filled: dict[str, float] = {}
    #: Jobs of the trace; ``None`` without a trace.
    jobs: JobOutcome | None = None
    #: The fleet over time.
    samples: tuple[FleetSample, ...] = ()


class ObservedPod(msgspec.Struct, frozen=True):
    """Constant facts about a pod."""

    #: Its request.
    request: Mapping[str, int]
    #: Its job; empty for none.
    job: str


class FleetObserver:
    """Takes samples of a fleet, and counts the pods that are deleted."""

    def __init__(self, fleet: EmbeddedFleet, lost: tuple[str, ...]) -> None:
        """Start now.

        Args:
            fleet: the fleet.
            lost: clusters that do not count.
        """
        #: The samples so far.
        self.samples: list[FleetSample] = []
        #: Pods that were deleted while their job continued.
        self.moves = 0
        #: Jobs that ended.
        self.ended: set[str] = set()
        self._fleet = fleet
        self._lost = lost
        self._start = fleet.clock.monotonic()
        self._seen: dict[str, dict[str, ObservedPod]] = {}

    def look(self) -> None:
        """Take a sample, unless there is one at the present time."""
        second = round(self._fleet.clock.monotonic() - self._start, 3)
        if self.samples and self.samples[-1].second == second:
            return
        counts, filled = [0, 0], {}
        for name, member in self._fleet.members.items():
            pods = member.store.list(POD).records
            facts = self._facts(name, pods)
            if name in self._lost:
                continue
            for each in pods:
                if not each.deleting:
                    counts[bool(each.node)] += 1
            placed = [facts[each.uid].request for each in pods if each.node]
            filled[name] = _filled(placed, _totals(member))
        self.samples.append(FleetSample(second, counts[True], counts[False], filled))

    def outcome(self, policy: str, jobs: JobOutcome | None) -> PolicyOutcome:
        """The sums of all samples.

        Args:
            policy: the policy.
            jobs: figures of the jobs of a trace; ``None`` without a trace.
        """
        last, count = self.samples[-1], len(self.samples)
        return PolicyOutcome(
            policy,
            last.running,
            last.pending,
            round(sum(each.pending for each in self.samples) / count, 2),
            self.moves,
            last.filled,
            {name: self._mean_filled(name) for name in last.filled},
            jobs,
            tuple(self.samples),
        )

    def _mean_filled(self, cluster: str) -> float:
        found = [each.filled[cluster] for each in self.samples if cluster in each.filled]
        return round(sum(found) / len(found), 4)

    def _facts(self, cluster: str, pods: Sequence[Record]) -> dict[str, ObservedPod]:
        """Facts about the pods of a cluster; counts pods that are gone since the last sample."""
        before = self._seen.get(cluster, {})
        now = {each.uid: before.get(each.uid) or _observed(each) for each in pods}
        gone = (before[uid] for uid in before.keys() - now.keys())
        self.moves += sum(each.job not in self.ended for each in gone)
        self._seen[cluster] = now
        return now


def _observed(record: Record) -> ObservedPod:
    pod = StoredObject(record)
    request = request_of({"kind": "Pod", "spec": pod.spec})
    return ObservedPod(request, pod.labels.get(JOB, ""))


def _filled(requests: Sequence[Mapping[str, int]], totals: Mapping[str, int]) -> float:
    """Requested share of the CPU or of the GPUs, whichever is larger."""
    shares = (
        sum(each.get(name, 0) for each in requests) / total
        for name, total in totals.items()
        if total
    )
    return round(max(shares, default=0.0), 4)


def _totals(member: EmbeddedMember) -> dict[str, int]:
    """CPU in thousandths and GPUs of all nodes of a cluster."""
    found = dict.fromkeys((CPU, GPU), 0)
    for each in member.store.list(NODE).records:
        listed = amounts(StoredObject(each).status.get("allocatable") or {}, "allocatable")
        for name in found:
            found[name] += listed.get(name, 0)
    return found
