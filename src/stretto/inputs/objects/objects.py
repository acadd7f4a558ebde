"""Conversion of a fleet in neutral form to Kubernetes objects, as JSON.

This module defines the wire form of values for which Kubernetes has no field: a node has its GPU
model in the label of NVIDIA's discovery; a pod has its GPU share and allowed models in annotations,
in addition to the plain device count.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.api.checks.rules import overcommittable
from stretto.api.codec import set_fields
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.api.wire.labels import ESTIMATE, HOSTNAME_LABEL, INSTANCE_TYPE, QUEUE_NAME, ZONE_LABEL
from stretto.api.wire.names import is_dns_subdomain
from stretto.api.wire.quantity import format_milli
from stretto.inputs.neutral.fleet import WHOLE_GPU, FleetNode, FleetPod

GPU: Final = "nvidia.com/gpu"
"""The extended resource that counts GPUs."""
GPU_MODEL_LABEL: Final = "nvidia.com/gpu.product"
"""Label of a node: the model of its GPUs."""
GPU_MILLI: Final = "stretto.dev/gpu-milli"
"""Annotation of a pod: requested milli of each GPU; absent for whole GPUs."""
GPU_MODELS: Final = "stretto.dev/gpu-models"
"""Annotation of a pod: allowed GPU models, joined by ``|``; absent for any."""
QOS_LABEL: Final = "stretto.dev/qos"
"""Label of a pod: its quality of service in the trace's notation."""
DURATION: Final = "stretto.dev/duration"
"""Annotation of a pod: its run time in seconds, if known."""
USER_LABEL: Final = "stretto.dev/user"
"""Label of a pod: the user of its trace."""
GROUP: Final = "godel.bytedance.com/pod-group-name"
"""Annotation and label of a pod: its PodGroup."""
KUBELET_LABELS: Final = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
"""Labels that every kubelet sets on its node, besides the host name."""
NODE_DISK: Final = "100Gi"
"""Local disk of a generated node."""
SCHEDULER_NAME: Final = "stretto"
"""The ``schedulerName`` of Stretto's pods."""
NOT_OURS: Final = ("", "default-scheduler")
"""Scheduler names that an embedded run replaces: none, or Kubernetes' default."""

JsonObject = dict[str, Any]
"""A JSON object before it is encoded."""

_READY: Final = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]


def object_name(name: str) -> str:
    """The object name of a trace's node or pod: its own name if Kubernetes allows it.

    Otherwise (capitals, underscores) it is converted to lower case with a unique suffix.
    """
    if is_dns_subdomain(name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())[:240].strip("-")
    return f"{plain or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def node_body(node: FleetNode) -> bytes:
    """The JSON of a ready Node with these resources, labels and taints."""
    name = object_name(node.name)
    labels = {**KUBELET_LABELS, INSTANCE_TYPE: _shape_of(node), HOSTNAME_LABEL: name, **node.labels}
    if node.zone:
        labels[ZONE_LABEL] = node.zone
    allocatable = {
        "cpu": format_milli(node.cpu_milli),
        "memory": f"{node.memory_mib}Mi",
        "ephemeral-storage": NODE_DISK,
        "pods": str(node.max_pods),
    }
    if node.gpus:
        allocatable[GPU] = str(node.gpus)
        labels[GPU_MODEL_LABEL] = node.gpu_model
    taints = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints
    ]
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints} if taints else {},
            "status": {"capacity": allocatable, "allocatable": allocatable, "conditions": _READY},
        }
    )


def _shape_of(node: FleetNode) -> str:
    """The shape of a generated node, in the form of ``like``: ``8cpu-32gib``."""
    return f"{node.cpu_milli // 1000}cpu-{node.memory_mib >> 10}gib"


def pod_body(
    pod: FleetPod, namespace: str = DEFAULT_NAMESPACE, scheduler_name: str = SCHEDULER_NAME
) -> bytes:
    """The JSON of a pending Pod with the requests of the neutral pod."""
    return msgspec.json.encode(pod_object(pod, namespace, scheduler_name))


def pod_object(
    pod: FleetPod, namespace: str = DEFAULT_NAMESPACE, scheduler_name: str = SCHEDULER_NAME
) -> JsonObject:
    """The same Pod before encoding, for callers that extend it."""
    metadata: JsonObject = {"name": object_name(pod.name), "namespace": namespace}
    labels = _pod_labels(pod)
    annotations = _pod_annotations(pod)
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    if pod.owner:
        metadata["ownerReferences"] = [_owner(pod.owner)]
    requests = {"cpu": format_milli(pod.cpu_milli), "memory": f"{pod.memory_mib}Mi"}
    if pod.gpus:
        requests[GPU] = str(pod.gpus)
    resources = requirements(requests)
    spec: JsonObject = {
        "schedulerName": scheduler_name,
        "containers": [{"name": "main", "image": "work", "resources": resources}],
    }
    if pod.priority:
        spec["priority"] = pod.priority
    if pod.preemption_policy:
        spec["preemptionPolicy"] = pod.preemption_policy
    if pod.priority_class:
        spec["priorityClassName"] = pod.priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def requirements(requests: Mapping[str, str]) -> JsonObject:
    """The resources of a container: requests, with the limits that extended resources need."""
    limits = {name: text for name, text in requests.items() if not overcommittable(name)}
    return {"requests": dict(requests), **({"limits": limits} if limits else {})}


def _owner(name: str) -> JsonObject:
    """The reference to the ReplicaSet of a trace's pods; the trace has no such object."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": object_name(name),
        "uid": f"owner-{object_name(name)}",
        "controller": True,
    }


def priority_class_object(name: str, value: int) -> JsonObject:
    """The PriorityClass of a trace's pods."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def adopted_pod(body: bytes) -> bytes:
    """A pod without an own scheduler name, assigned to Stretto."""
    if decode_pod_head(body).spec.scheduler_name not in NOT_OURS:
        return body
    return set_fields(body, {("spec", "schedulerName"): SCHEDULER_NAME})


def pod_group_body(
    name: str,
    min_member: int,
    namespace: str = DEFAULT_NAMESPACE,
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """The JSON of a PodGroup that needs ``min_member`` of its pods.

    ``more`` contains further fields of its spec (``scheduleTimeoutSeconds``,
    ``priorityClassName``).
    """
    return msgspec.json.encode(
        {
            "apiVersion": "scheduling.godel.kubewharf.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": object_name(name), "namespace": namespace},
            "spec": {"minMember": min_member, **(more or {})},
        }
    )


def _pod_labels(pod: FleetPod) -> dict[str, str]:
    """The labels of a pod."""
    labels = dict(pod.labels)
    if pod.qos:
        labels[QOS_LABEL] = pod.qos
    if pod.group:
        labels[GROUP] = object_name(pod.group)
    return labels


def _pod_annotations(pod: FleetPod) -> dict[str, str]:
    """The annotations of a pod."""
    annotations = {}
    if pod.gpus and 0 < pod.gpu_milli < WHOLE_GPU:
        annotations[GPU_MILLI] = str(pod.gpu_milli)
    if pod.gpu_models:
        annotations[GPU_MODELS] = "|".join(pod.gpu_models)
    if pod.group:
        annotations[GROUP] = object_name(pod.group)
    if pod.duration_s is not None:
        annotations[DURATION] = repr(pod.duration_s).removesuffix(".0")
    if pod.estimate_s is not None:
        annotations[ESTIMATE] = repr(pod.estimate_s).removesuffix(".0")
    if pod.queue:
        annotations[QUEUE_NAME] = pod.queue
    return annotations
