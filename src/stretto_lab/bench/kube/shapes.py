"""The workloads: nodes and pods like those of scheduler_perf of Kubernetes.

Counts are for 5,000 nodes and scale with the number of nodes. Running pods are created with a node,
round-robin, so that each side starts from the same cluster. Priorities are numbers (the Priority
admission is off, as in scheduler_perf).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.wire.kinds import POD_GROUP
from stretto_lab.bench.kube.options import WORKLOADS

FULL: Final = 5000
"""Nodes to which the counts apply."""
MEASURED: Final = "bench"
"""Namespace of the measured pods."""
RUNNING: Final = "bench-running"
"""Namespace of the running pods."""
CHURN: Final = "bench-churn"
"""Namespace of the churn objects."""
SPACES: Final = (MEASURED, RUNNING, CHURN)
SCHEDULER: Final = "default-scheduler"
"""Scheduler name of both sides, so that the objects are equal."""
LEAST_STEADY: Final = 4
"""Minimum number of pods of the latency pass."""

_GROUP: Final = "godel.bytedance.com/pod-group-name"
_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"
_ENCODE: Final = msgspec.json.Encoder().encode

Form = Mapping[str, Any]
"""Additions to the plain pod: ``labels``, ``annotations``, ``requests``, ``spec``."""
Make = Callable[[int, int], Form]
"""Function from the number of a pod and the number of nodes to the form of the pod."""


class WorkloadShape(NamedTuple):
    """One workload."""

    #: Name in ``--workload``.
    name: str
    #: Pods to place, with 5,000 nodes.
    pods: int
    #: Form of each pod.
    form: Make
    #: Running pods, with 5,000 nodes.
    running: int = 0
    #: Form of each running pod.
    running_form: Make = lambda _number, _nodes: {}
    #: Zones of the nodes, round-robin.
    zones: tuple[str, ...] = ("zone1",)
    #: Number of pods of a gang; 1 without gangs.
    gang: int = 1
    #: True if a node, a pod and a Service are created and deleted alternately.
    churns: bool = False


class WorkloadCounts(NamedTuple):
    """Pod counts of a workload."""

    #: Running pods.
    running: int
    #: Pods of the throughput pass.
    pods: int
    #: Pods of the latency pass.
    steady: int


def workload_counts(shape: WorkloadShape, nodes: int) -> WorkloadCounts:
    """Pod counts for a number of nodes; gangs are complete.

    >>> workload_counts(shape_named("gang"), 50)
    WorkloadCounts(running=0, pods=90, steady=9)
    """
    gangs = max(1, round(shape.pods / shape.gang * nodes / FULL))
    least = -(-LEAST_STEADY // shape.gang)
    steady = max(least, gangs // 10)
    running = round(shape.running * nodes / FULL)
    return WorkloadCounts(running, gangs * shape.gang, steady * shape.gang)


def shape_named(name: str) -> WorkloadShape:
    """Return a workload by its name."""
    return _SHAPES[name]


# ------------------------------------------------------------ objects


def node_name(number: int) -> str:
    """The name of a node."""
    return f"node-{number:05d}"


def node_bodies(shape: WorkloadShape, nodes: int) -> Iterator[bytes]:
    """Nodes with 4 cores, 32 GiB and 110 pods, created as Ready."""
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True", "reason": "Bench"}]
    for number in range(nodes):
        name, zone = node_name(number), shape.zones[number % len(shape.zones)]
        labels = {_HOST: name, _ZONE: zone}
        status = {"allocatable": amounts, "capacity": amounts, "conditions": ready}
        yield _ENCODE({"metadata": {"name": name, "labels": labels}, "status": status})


def running_bodies(shape: WorkloadShape, nodes: int, more: int) -> Iterator[bytes]:
    """Running pods of the workload, and ``more`` small ones."""
    for number in range(workload_counts(shape, nodes).running):
        form = shape.running_form(number, nodes)
        yield _pod(RUNNING, f"running-{number}", form, node_name(number % nodes))
    small = {"requests": {"cpu": "10m", "memory": "50Mi"}}
    for number in range(more):
        yield _pod(RUNNING, f"small-{number}", small, node_name(number % nodes))


def pod_bodies(shape: WorkloadShape, nodes: int, numbers: range) -> list[bytes]:
    """Pods to place."""
    return [_pod(MEASURED, pod_name(n), _member(shape, n, nodes)) for n in numbers]


def pod_name(number: int) -> str:
    """The name of a pod to place."""
    return f"pod-{number}"


def group_bodies(shape: WorkloadShape, pods: int) -> list[bytes]:
    """PodGroups for ``pods`` pods; none without gangs."""
    if shape.gang == 1:
        return []
    named = {"apiVersion": POD_GROUP.api_version, "kind": POD_GROUP.kind}
    spec = {"minMember": shape.gang}
    groups = [f"gang-{number}" for number in range(-(-pods // shape.gang))]
    meta = [{"name": name, "namespace": MEASURED} for name in groups]
    return [_ENCODE({**named, "metadata": each, "spec": spec}) for each in meta]


def churn_bodies(number: int) -> tuple[bytes, bytes, bytes]:
    """Node (without capacity), pod and Service of one churn turn."""
    name = f"churn-{number}"
    ready = [{"type": "Ready", "status": "True", "reason": "Bench"}]
    status = {"capacity": {"pods": "0"}, "conditions": ready}
    node = _ENCODE({"metadata": {"name": name}, "status": status})
    pod = _pod(CHURN, name, {"requests": {}})
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 9376}]
    spec = {"selector": {"app": "churn"}, "ports": ports}
    service = _ENCODE({"metadata": {"name": name, "namespace": CHURN}, "spec": spec})
    return node, pod, service


def _pod(namespace: str, name: str, form: Form, node: str = "") -> bytes:
    requests = form.get("requests", {"cpu": "100m", "memory": "500Mi"})
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": requests, "limits": requests},
    }
    spec = {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": 0,  # no kubelet confirms a graceful termination
        "containers": [container],
        **form.get("spec", {}),
    }
    if node:
        spec["nodeName"] = node
    meta = {"name": name, "namespace": namespace, "labels": form.get("labels", {})}
    meta["annotations"] = form.get("annotations", {})
    return _ENCODE({"metadata": meta, "spec": spec})


def _member(shape: WorkloadShape, number: int, nodes: int) -> Form:
    """Form of a pod, with its gang if there is one."""
    form = dict(shape.form(number, nodes))
    if shape.gang > 1:
        group = {_GROUP: f"gang-{number // shape.gang}"}
        form["labels"] = {**form.get("labels", {}), **group}
        form["annotations"] = {**form.get("annotations", {}), **group}
    return form


# ------------------------------------------------------------ forms


def _plain(_number: int, _nodes: int) -> Form:
    return {}


def _in_zones(_number: int, _nodes: int) -> Form:
    wanted = {"key": _ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    return {"spec": {"affinity": _on_nodes({"matchExpressions": [wanted]})}}


def _of_daemon(number: int, nodes: int) -> Form:
    here = {"key": "metadata.name", "operator": "In", "values": [node_name(number % nodes)]}
    return {"spec": {"affinity": _on_nodes({"matchFields": [here]})}}


def _spread(_number: int, _nodes: int) -> Form:
    labels = {"color": "blue"}
    rule = {
        "maxSkew": 5,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {"labels": labels, "spec": {"topologySpreadConstraints": [rule]}}


def _together(_number: int, _nodes: int) -> Form:
    return _affinity_to("podAffinity", "blue", _ZONE)


def _apart(_number: int, _nodes: int) -> Form:
    return _affinity_to("podAntiAffinity", "green", _HOST)


def _low(_number: int, _nodes: int) -> Form:
    return {"requests": {"cpu": "900m", "memory": "500Mi"}}


def _high(_number: int, _nodes: int) -> Form:
    return {"requests": {"cpu": "3000m", "memory": "500Mi"}, "spec": {"priority": 10}}


def _on_nodes(term: Form) -> Form:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": rule}


def _affinity_to(kind: str, color: str, key: str) -> Form:
    labels = {"color": color}
    term = {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": key,
        "namespaces": [MEASURED, RUNNING],
    }
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"labels": labels, "spec": {"affinity": affinity}}


_SHAPES: Final[dict[str, WorkloadShape]] = dict(
    zip(
        WORKLOADS,
        (
            WorkloadShape("basic", 10_000, _plain, 1000),
            WorkloadShape("node-affinity", 10_000, _in_zones, 5000, _in_zones),
            WorkloadShape("spread", 5000, _spread, 5000, zones=("moon-1", "moon-2", "moon-3")),
            WorkloadShape("pod-affinity", 5000, _together, 5000, _together),
            WorkloadShape("pod-anti-affinity", 2000, _apart, 1000, _apart),
            WorkloadShape("preemption", 1000, _high, 20_000, _low),
            WorkloadShape("daemonset", 10_000, _of_daemon),
            WorkloadShape("churn", 10_000, _plain, churns=True),
            WorkloadShape("gang", 9000, _plain, gang=3),
        ),
        strict=True,
    )
)
