"""Nodes and pods of the simulator: a few plain numbers, and their JSON.

The reference that checks the plane uses only these numbers: no classes, no columns, no parsed
quantities.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stretto.api.types.handover_annotations import BEST_EFFORT, RESOURCE_TYPE
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.control.dispatcher.membership import GROUP_NAME
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.settings import ALL_MEMBERS
from stretto.state.classes.annotations import DEDICATED, QOS_LEVEL, RESERVATION, RESERVATION_TTL
from stretto.state.classes.preemption_attributes import CAN_BE_PREEMPTED
from stretto.state.classes.table import GPU, GPU_MILLI, GPU_MODELS
from stretto.state.cluster.config import GPU_PRODUCT, SCHEDULER_NAME
from stretto_lab.chaos.draws.affinity import LABEL, GroupAffinity, spec_of

MIB: Final = 1 << 20
WIDGET: Final = "example.com/widget"
"""Extended resource of some nodes."""
OVERCOMMITTED: Final = "chaos"
"""Value of the pool label of overcommitted nodes."""
WHOLE: Final = 1000
"""Milli of a whole GPU."""


class NodeShapeDraw(msgspec.Struct, frozen=True):
    """A node of the world."""

    #: Milli-CPU.
    cpu: int
    #: Memory in MiB.
    memory: int
    #: Allocatable pods.
    pods: int = 16
    #: Extended resources.
    widgets: int = 0
    #: GPUs.
    gpus: int = 0
    #: Model of its GPUs.
    model: str = ""
    #: Zone.
    zone: str = "a"
    #: Value of the label that selectors match.
    pool: str = "blue"
    #: True if it has a taint that few pods tolerate.
    tainted: bool = False
    #: True if it is cordoned.
    cordoned: bool = False
    #: Milli-CPU of its best-effort pool; 0 without a report of its agent.
    reclaimed: int = 0
    #: Maximum ratio of promised to real CPU; 1 without overcommit.
    cap: float = 1.0

    def promised(self, requests: Iterable["PodRequest"]) -> int:
        """Milli-CPU that the node may promise to pods; some of the pods have exclusive cores."""
        held = sum(request.cpu for request in requests if request.exclusive)
        rest = max(self.cpu - held, 0)
        return self.cpu + int(rest * self.cap) - rest


class PodRequest(msgspec.Struct, frozen=True):
    """Request of a pod."""

    #: Milli-CPU.
    cpu: int
    #: Memory in MiB.
    memory: int
    #: Extended resources.
    widgets: int = 0
    #: GPUs.
    gpus: int = 0
    #: Milli of each GPU; less than whole with one GPU only.
    milli: int = WHOLE
    #: Model that the GPUs must have; empty for any.
    model: str = ""
    #: Host ports.
    ports: tuple[int, ...] = ()
    #: Required pool of the node; empty for any.
    pool: str = ""
    #: True if it tolerates the taint.
    tolerates: bool = False
    #: Group of pods that share one affinity rule; empty for none.
    group: str = ""
    #: Rule between the pods of the group.
    rule: GroupAffinity = GroupAffinity.FREE
    #: True if CPU and memory come from the node's pool.
    best_effort: bool = False
    #: True if its cores are exclusive.
    exclusive: bool = False


class PodRole(msgspec.Struct, frozen=True):
    """Owner, group and scheduling attributes of a pod."""

    #: PodGroup; empty for none.
    group: str = ""
    #: Uid and name of its owner; empty for none.
    owner: str = ""
    #: Number of pods of the owner that must fit together, as an annotation; empty for the default.
    together: str = ""
    #: Priority.
    priority: int = 0
    #: True if it has a scheduling gate.
    gated: bool = False
    #: True if another scheduler places it.
    foreign: bool = False
    #: Node on which it is created; empty for none.
    node: str = ""
    #: Label that PodDisruptionBudgets select.
    app: str = "chaos"
    #: Its can-be-preempted annotation: ``true``, ``false`` or empty.
    agrees: str = ""
    #: True if a finalizer delays its deletion.
    held: bool = False
    #: Its queue annotation; empty for none.
    queue: str = ""
    #: Seconds for which its capacity stays reserved after its deletion; empty for none.
    reserve_s: str = ""


POOL_MEMORY: Final = 2048
"""MiB of memory in each pool."""
POOL_PODS: Final = 4
"""Pods in each pool."""
ALL_TOGETHER: Final = ALL_MEMBERS
"""Value of ``PodRole.together`` for all existing pods."""


def node_json(name: str, shape: NodeShapeDraw) -> bytes:
    """A node as JSON for a store."""
    labels = {"kubernetes.io/hostname": name, "pool": shape.pool}
    labels["topology.kubernetes.io/zone"] = shape.zone
    if shape.cap > 1.0:
        labels[POOL_LABEL] = OVERCOMMITTED
    amounts = {"cpu": f"{shape.cpu}m", "memory": f"{shape.memory}Mi", "pods": str(shape.pods)}
    if shape.widgets:
        amounts[WIDGET] = str(shape.widgets)
    if shape.gpus:
        amounts[GPU] = str(shape.gpus)
        labels[GPU_PRODUCT] = shape.model
    spec: dict[str, Any] = {}
    if shape.tainted:
        spec["taints"] = [{"key": "dedicated", "value": "few", "effect": "NoSchedule"}]
    if shape.cordoned:
        spec["unschedulable"] = True
    return _json("v1", "Node", {"name": name, "labels": labels}, spec, {"allocatable": amounts})


def report_json(name: str, shape: NodeShapeDraw, metric: dict[str, Any] | None = None) -> bytes:
    """The report of a node agent about its pool and its usage, as JSON for a store."""
    amounts = {"cpu": f"{shape.reclaimed}m", "memory": f"{POOL_MEMORY}Mi", "pods": str(POOL_PODS)}
    kind, status = CUSTOM_NODE_RESOURCE, dict[str, Any]()
    if shape.reclaimed:
        status["resources"] = {"allocatable": amounts}
    if metric is not None:
        status["nodeMetricStatus"] = metric
    return _json(kind.api_version, kind.kind, {"name": name}, {}, status)


def pod_json(name: str, request: PodRequest, role: PodRole) -> bytes:
    """A pod as JSON for a store."""
    annotations: dict[str, str] = {}
    labels = {"app": role.app}
    if role.agrees:
        annotations[CAN_BE_PREEMPTED] = role.agrees
    if request.exclusive:
        annotations[QOS_LEVEL] = DEDICATED
    if request.best_effort:
        annotations[RESOURCE_TYPE] = BEST_EFFORT
    requests = {"cpu": f"{request.cpu}m", "memory": f"{request.memory}Mi"}
    if request.widgets:
        requests[WIDGET] = str(request.widgets)
    if request.gpus:
        requests[GPU] = str(request.gpus)
        if request.milli < WHOLE:
            annotations[GPU_MILLI] = str(request.milli)
        if request.model:
            annotations[GPU_MODELS] = request.model
    if role.group:
        labels[GROUP_NAME] = annotations[GROUP_NAME] = role.group
    if role.queue:
        annotations["stretto.dev/queue"] = role.queue
    if role.reserve_s:
        annotations |= {RESERVATION: "true", RESERVATION_TTL: role.reserve_s}
    if role.together:
        annotations["stretto.dev/min-member"] = role.together
    ports = [{"containerPort": port, "hostPort": port} for port in request.ports]
    spec: dict[str, Any] = {
        "schedulerName": "another-scheduler" if role.foreign else SCHEDULER_NAME,
        "containers": [{"name": "main", "resources": {"requests": requests}, "ports": ports}],
        "priority": role.priority,
    }
    if request.pool:
        spec["nodeSelector"] = {"pool": request.pool}
    if request.group:
        labels[LABEL] = request.group
        spec |= spec_of(request.group, request.rule)
    if request.tolerates:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if role.gated:
        spec["schedulingGates"] = [{"name": "chaos"}]
    if role.node:
        spec["nodeName"] = role.node
    meta: dict[str, Any] = {"name": name, "namespace": "default", "labels": labels}
    meta["annotations"] = annotations
    if role.held:
        meta["finalizers"] = ["chaos.stretto.dev/held"]
    if role.owner:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
        meta["ownerReferences"] = [{**owner, "name": role.owner, "uid": f"uid-{role.owner}"}]
    return _json("v1", "Pod", meta, spec, {})


def group_json(name: str, min_member: int, timeout: int | None = None) -> bytes:
    """A PodGroup as JSON for a store."""
    meta = {"name": name, "namespace": "default"}
    spec: dict[str, Any] = {"minMember": min_member}
    if timeout is not None:
        spec["scheduleTimeoutSeconds"] = timeout
    return _json("scheduling.godel.kubewharf.io/v1alpha1", "PodGroup", meta, spec, {})


def admits(shape: NodeShapeDraw, request: PodRequest) -> bool:
    """True if the static rules of a node admit a pod, without regard to capacity."""
    return (
        not shape.cordoned
        and (request.tolerates or not shape.tainted)
        and (not request.pool or request.pool == shape.pool)
        and (not request.gpus or not request.model or request.model == shape.model)
    )


def overruns(shape: NodeShapeDraw, pod_requests: Iterable[PodRequest], last: PodRequest) -> str:
    """Resources requested by ``last`` that all requests overcommit; empty if none."""
    requests = list(pod_requests)
    same_pool = [request for request in requests if request.best_effort == last.best_effort]
    pooled, reported = last.best_effort, shape.reclaimed > 0
    sums = {
        "cpu": (
            sum(a.cpu for a in same_pool),
            shape.reclaimed if pooled else shape.promised(requests),
            last.cpu,
        ),
        "memory": (
            sum(a.memory for a in same_pool),
            POOL_MEMORY * reported if pooled else shape.memory,
            last.memory,
        ),
        "pods": (len(requests), shape.pods, 1),
        "places in the pool": (len(same_pool), POOL_PODS * reported, pooled),
        WIDGET: (sum(a.widgets for a in requests), shape.widgets, last.widgets),
    }
    over = [
        f"{name} {used} of {there}"
        for name, (used, there, requested) in sums.items()
        if requested and used > there
    ]
    taken = [port for a in requests for port in a.ports]
    over += [f"host port {port} taken twice" for port in last.ports if taken.count(port) > 1]
    return ", ".join(over)


def _json(
    version: str, kind: str, meta: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]
) -> bytes:
    parts = {"metadata": meta, "spec": spec, "status": status}
    return msgspec.json.encode(
        {"apiVersion": version, "kind": kind, **{k: v for k, v in parts.items() if v}}
    )
