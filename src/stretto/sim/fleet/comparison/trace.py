"""A trace of one cluster as work of a fleet: nodes by cluster, and jobs as Deployments."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.federation import names
from stretto.inputs.neutral.bounds import job_of
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import GROUP, pod_group_body, pod_object
from stretto.sim.fleet.comparison.outcomes import JOB

POLICY: Final = "trace"
"""Name of the propagation policy of all jobs."""


class TraceJob(msgspec.Struct, frozen=True):
    """Equal pods of one job that arrive together."""

    #: Unique name.
    name: str
    #: Seconds from the start to its arrival.
    arrival_s: float
    #: Its pods.
    pods: int
    #: Template of its pods.
    template: dict[str, Any]
    #: Seconds from the start of its last pod to its end; infinity for none.
    duration_s: float = inf
    #: Seconds from the start to its end, even if it does not run; infinity for none.
    departure_s: float = inf
    #: True if its pods start together.
    is_gang: bool = False

    def pod_group(self) -> dict[str, Any] | None:
        """The PodGroup of a gang, which requires all its pods; ``None`` for other jobs."""
        if not self.is_gang:
            return None
        found: dict[str, Any] = msgspec.json.decode(pod_group_body(self.name, self.pods))
        return found

    def deployment(self) -> dict[str, Any]:
        """The Deployment of the job."""
        template = self.template
        if self.is_gang:
            metadata = template["metadata"]
            notes = {**(metadata.get("annotations") or {}), GROUP: self.name}
            template = {**template, "metadata": {**metadata, "annotations": notes}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name, "labels": {names.POLICY: POLICY}},
            "spec": {
                "replicas": self.pods,
                "selector": {"matchLabels": {JOB: self.name}},
                "template": template,
            },
        }


class FleetTrace(msgspec.Struct, frozen=True):
    """The nodes of a trace by cluster, and its jobs by arrival."""

    #: Nodes by cluster.
    nodes: dict[str, tuple[FleetNode, ...]]
    #: Jobs by arrival; the first arrives at 0.
    jobs: tuple[TraceJob, ...]

    @property
    def last_arrival_s(self) -> float:
        """Seconds from the start to the last arrival."""
        return self.jobs[-1].arrival_s

    @property
    def span_s(self) -> float:
        """Seconds until all jobs with an end have ended, if none waits."""
        ends = (min(x.departure_s, x.arrival_s + x.duration_s) for x in self.jobs)
        return max(self.last_arrival_s, *(each for each in ends if each < inf), 0.0)


def fleet_trace(
    nodes: Sequence[FleetNode],
    pods: Sequence[FleetPod],
    shares: Mapping[str, int],
    *,
    gangs: bool = False,
) -> FleetTrace:
    """A trace over clusters.

    Args:
        nodes: all nodes.
        pods: all pods.
        shares: clusters, with their shares of the nodes.
        gangs: true if the pods of a gang start together.

    Raises:
        InputError: there are no pods, or fewer nodes than clusters.
    """
    if not pods:
        raise InputError("trace", None, "at least one pod")
    if len(nodes) < len(shares):
        expected = f"at least one node for each of {len(shares)} clusters"
        raise InputError("nodes", len(nodes), expected, "give more nodes or fewer --clusters")
    return FleetTrace(nodes_by_cluster(nodes, shares), jobs_of(pods, gangs=gangs))


def nodes_by_cluster(
    nodes: Sequence[FleetNode], shares: Mapping[str, int]
) -> dict[str, tuple[FleetNode, ...]]:
    """Nodes by cluster; each is assigned to the cluster that lacks most (Webster's method)."""
    found: dict[str, list[FleetNode]] = {name: [] for name in shares}
    for each in nodes:
        name = max(shares, key=lambda name: shares[name] / (2 * len(found[name]) + 1))
        found[name].append(each)
    return {name: tuple(listed) for name, listed in found.items()}


def jobs_of(pods: Iterable[FleetPod], *, gangs: bool = False) -> tuple[TraceJob, ...]:
    """The jobs of a trace: equal pods of one job that arrive together are one.

    With ``gangs``, the equal pods of a gang start together; without, clusters may share them.
    """
    groups: dict[tuple[str, bytes], list[FleetPod]] = {}
    for each in pods:
        groups.setdefault((job_of(each), msgspec.json.encode(_alike(each))), []).append(each)
    ordered = sorted(groups.values(), key=lambda found: found[0].arrival_s or 0.0)
    first = min((found[0].arrival_s or 0.0 for found in ordered), default=0.0)
    return tuple(
        _job(f"job-{at:06d}", found, first, gangs=gangs) for at, found in enumerate(ordered, 1)
    )


def _alike(pod: FleetPod) -> FleetPod:
    """A pod without the fields that differ between equal pods of a job."""
    return msgspec.structs.replace(
        pod, name="", node="", group="", owner="", start_s=None, estimate_s=None, extra={}
    )


def _job(name: str, pods: Sequence[FleetPod], first_s: float, *, gangs: bool) -> TraceJob:
    pod = pods[0]
    body = pod_object(msgspec.structs.replace(_alike(pod), duration_s=None))  # the end is the job's
    metadata, spec = dict(body["metadata"]), dict(body["spec"])
    del spec["schedulerName"]
    kept = {key: metadata[key] for key in ("annotations",) if key in metadata}
    labels = {**(metadata.get("labels") or {}), JOB: name}
    departure = inf if pod.departure_s is None else pod.departure_s - first_s
    return TraceJob(
        name,
        (pod.arrival_s or 0.0) - first_s,
        len(pods),
        {"metadata": {**kept, "labels": labels}, "spec": spec},
        inf if pod.duration_s is None else pod.duration_s,
        departure,
        gangs and bool(pod.group) and len(pods) > 1,
    )
