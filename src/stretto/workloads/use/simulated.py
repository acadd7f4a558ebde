"""The use of pods and nodes whose containers do not really run.

The use of a pod is its annotation ``stretto.dev/use``. Without it, the ready pods of a workload
share the workload's load (``stretto.dev/load``), so that more replicas use less each. Without both,
the use is an estimate from the requests. The use of a node is the last measurement of its agent,
otherwise the sum of its pods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from stretto.api.types.capacity.metrics import ContainerMetrics, NodeMetrics, PodMetrics
from stretto.api.types.cnr import CustomNodeResource
from stretto.api.wire.kinds import (
    CUSTOM_NODE_RESOURCE,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
)
from stretto.api.wire.meta import ObjectMeta
from stretto.api.wire.quantity import amount, amounts, format_amount
from stretto.base.errors import InputError
from stretto.reconcile.cache import StoredObject
from stretto.workloads.cluster import LocalCluster, owner_of, ready_since
from stretto.workloads.use.annotations import LOAD, RESOURCES, USE, read_use

Amounts = Mapping[str, int]
Estimate = Callable[[Amounts, Amounts], Amounts]
"""Maps requests and limits of a container to its expected use."""

WINDOW: Final = "15s"
"""Window of the measurements, as a duration."""
_BY_NODE: Final = "node"
_WORKLOADS: Final = {kind.kind: kind for kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, JOB)}
"""Kinds whose annotation contains a load."""


class SimulatedUse:
    """Current use of the pods and nodes of a cluster."""

    def __init__(self, cluster: LocalCluster, estimate: Estimate) -> None:
        """Simulate the pods of a cluster.

        Args:
            cluster: the cluster.
            estimate: the use of containers without annotations.
        """
        self._cluster = cluster
        self._estimate = estimate
        self._pods = cluster.objects(POD)
        self._pods.add_index(_BY_NODE, lambda pod: [pod.record.node] if pod.record.node else ())
        self._nodes = cluster.objects(NODE)
        self._reports = cluster.objects(CUSTOM_NODE_RESOURCE)

    def pods(self, namespace: str = "") -> list[PodMetrics]:
        """The use of the running pods of a namespace, by name; an empty namespace means all."""
        found = self._pods.in_namespace(namespace) if namespace else self._pods
        ordered = sorted(filter(_runs, found), key=lambda pod: pod.name)
        return list(self._measured(ordered))

    def pod(self, namespace: str, name: str) -> PodMetrics | None:
        """The use of a pod; ``None`` if it does not run."""
        pod = self._pods.get(namespace, name)
        return next(self._measured([pod]), None) if pod is not None and _runs(pod) else None

    def nodes(self) -> list[NodeMetrics]:
        """The use of all nodes, by name."""
        shares = _Shares(self._cluster)
        ordered = sorted(self._nodes, key=lambda node: node.name)
        return [self._node(each, shares) for each in ordered]

    def node(self, name: str) -> NodeMetrics | None:
        """The use of a node; ``None`` if the node does not exist."""
        node = self._nodes.get("", name)
        return None if node is None else self._node(node, _Shares(self._cluster))

    def _measured(self, pods: Iterable[StoredObject]) -> Iterator[PodMetrics]:
        now, shares = self._cluster.now_text(), _Shares(self._cluster)
        for pod in pods:
            namespace, name = pod.name
            containers = tuple(
                ContainerMetrics(container, _texts(use))
                for container, use in self._containers(pod, shares).items()
            )
            metadata = ObjectMeta(name, namespace=namespace, labels=dict(pod.labels))
            yield PodMetrics(metadata, now, WINDOW, containers)

    def _node(self, node: StoredObject, shares: "_Shares") -> NodeMetrics:
        name = node.record.name
        at, used = self._reported(name) or (self._cluster.now_text(), self._sum(name, shares))
        metadata = ObjectMeta(name, labels=dict(node.labels))
        return NodeMetrics(metadata, at, WINDOW, _texts(used))

    def _sum(self, node: str, shares: "_Shares") -> Amounts:
        """The total use of the pods of a node."""
        total = dict.fromkeys(RESOURCES, 0)
        for pod in filter(_runs, self._pods.indexed(_BY_NODE, node)):
            for use in self._containers(pod, shares).values():
                total = {name: total[name] + use.get(name, 0) for name in total}
        return total

    def _reported(self, node: str) -> tuple[str, Amounts] | None:
        """Time and result of the last measurement of a node; ``None`` without a readable one."""
        found = self._reports.get("", node)
        try:
            return None if found is None else self._measurement(found)
        except InputError:
            return None  # the scheduler reports unreadable measurements

    def _measurement(self, report: StoredObject) -> tuple[str, Amounts] | None:
        """Time and result of the measurement in a report; ``None`` without one.

        Raises:
            InputError: the report, or an amount in it, is malformed.
        """
        metric = report.read(CustomNodeResource).status.node_metric_status
        use = metric.node_metric.generic_usage if metric and metric.node_metric else None
        if metric is None or use is None or use.cpu is None or use.memory is None:
            return None
        where = f"{report.record.name}: status.nodeMetricStatus"
        amounts_of = {"cpu": use.cpu, "memory": use.memory}
        texts = {name: amount(name, each, where) for name, each in amounts_of.items()}
        return metric.update_time or self._cluster.now_text(), texts

    def _containers(self, pod: StoredObject, shares: "_Shares") -> dict[str, dict[str, int]]:
        """Use by container of a pod."""
        requests, found = {}, {}
        for each in pod.spec.get("containers") or ():
            name, resources = each["name"], each.get("resources") or {}
            requests[name] = amounts(resources.get("requests") or {}, name)
            limits = amounts(resources.get("limits") or {}, name)
            found[name] = dict(self._estimate(requests[name], limits))
        stated = _stated(pod, USE)
        for resource, whole in {**shares.of(pod), **stated}.items():
            parts = _divided(whole, [requests[name].get(resource, 0) for name in found])
            for name, part in zip(found, parts, strict=True):
                found[name][resource] = part
        return found


class _Shares:
    """The share of each pod in the load of its workload, computed once per workload."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._found: dict[str, Amounts] = {}

    def of(self, pod: StoredObject) -> Amounts:
        """The share of a pod; empty if its workload has no load or the pod is not ready."""
        workload = self._workload(pod)
        if workload is None or ready_since(pod) is None:
            return {}
        uid = workload.record.uid
        if uid not in self._found:
            load = _stated(workload, LOAD)
            count = max(1, self._ready(workload)) if load else 1
            self._found[uid] = {name: whole // count for name, whole in load.items()}
        return self._found[uid]

    def _workload(self, pod: StoredObject) -> StoredObject | None:
        """The workload at the end of the chain of owners."""
        item, owner = None, owner_of(pod)
        while owner is not None and (kind := _WORKLOADS.get(owner["kind"])) is not None:
            found = self._cluster.objects(kind).get(pod.record.namespace, owner["name"])
            if found is None:
                break
            item, owner = found, owner_of(found)
        return item

    def _ready(self, workload: StoredObject) -> int:
        """Number of ready pods of a workload and of its ReplicaSets."""
        sets = [workload, *self._cluster.owned(REPLICA_SET, workload)]
        pods = (pod for each in sets for pod in self._cluster.owned(POD, each))
        return sum(_runs(pod) and ready_since(pod) is not None for pod in pods)


def _runs(pod: StoredObject) -> bool:
    return pod.status.get("phase") == "Running" and bool(pod.record.node)


def _stated(item: StoredObject, annotation: str) -> dict[str, int]:
    """The amounts of an annotation, which the API server has validated."""
    text = item.annotations.get(annotation)
    return {} if text is None else read_use(text, f"{item.record.name}: {annotation}")


def _divided(whole: int, weights: list[int]) -> list[int]:
    """Divide an amount in proportion to weights, equally if all are 0.

    The first part gets the rest.
    """
    weights = weights if any(weights) else [1] * len(weights)
    parts = [whole * each // sum(weights) for each in weights]
    return [parts[0] + whole - sum(parts), *parts[1:]] if parts else []


def _texts(use: Amounts) -> dict[str, str]:
    return {name: format_amount(name, use.get(name, 0)) for name in RESOURCES}
