"""Equal pods of a scenario, from one encoded text that is split at the name."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.api.admission.field_rules import check_new
from stretto.api.wire.kinds import JOB, POD, POD_GROUP, REPLICA_SET, STATEFUL_SET, Kind
from stretto.api.wire.labels import ESTIMATE
from stretto.base.errors import InputError, did_you_mean
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.objects import (
    DURATION,
    JsonObject,
    pod_group_body,
    pod_object,
    requirements,
)
from stretto.inputs.scenario.arrivals import ObjectArrival, WorkContext, times_of
from stretto.inputs.scenario.schema import PodsSpec, WorkloadSpec

_OWNERS: Final[dict[str, Kind]] = {
    "ReplicaSet": REPLICA_SET,
    "StatefulSet": STATEFUL_SET,
    "Job": JOB,
}
"""Kinds of controllers that may own equal pods."""
_NAME: Final = b'"name":"@"'
"""Placeholder of the pod's name: the first name in its JSON."""


def check_models(wanted: PodsSpec, context: WorkContext) -> None:
    """Refuse a GPU model that no node has, if the fleet has GPUs of known models."""
    models = {node.gpu_model for node in context.nodes if node.gpus}
    for index, model in enumerate(wanted.gpu_models):
        if models and model not in models:
            hint = did_you_mean(model, models, "add such a node, or drop the model")
            expected = f"a GPU model of the fleet ({', '.join(sorted(models))})"
            raise InputError(f"pods.gpu_models[{index}]", model, expected, hint)


def equal_pods(
    spec: WorkloadSpec, wanted: PodsSpec, context: WorkContext
) -> Iterator[ObjectArrival]:
    """Equal pods, gang by gang, each PodGroup before its pods."""
    namespace, name = context.scenario.namespace, spec.name or context.prefix
    per_unit = wanted.gang or 1
    times = times_of(spec.arrival, wanted.count // per_unit, context.rng).tolist()
    owner = _owner(wanted, name, context) if wanted.owner else None
    head, tail = b"", b""
    for unit, time in enumerate(times):
        group = f"{name}-{unit}" if wanted.gang and len(times) > 1 else name
        if wanted.gang:
            body = pod_group_body(group, wanted.min_member or wanted.gang, namespace)
            yield ObjectArrival(time, POD_GROUP, namespace, group, body)
        if wanted.gang or not unit:
            pod = _equal_pod(wanted, group if wanted.gang else "", namespace, owner)
            head, _, tail = msgspec.json.encode(pod).partition(_NAME)
            where = f"{context.scenario.where}: {context.prefix}"
            with inside(where):
                check_new(POD, head + b'"name":"%s"' % name.encode() + tail)
        for number in range(unit * per_unit, (unit + 1) * per_unit):
            own = f"{name}-{number}"
            body = head + b'"name":"%s"' % own.encode() + tail
            yield ObjectArrival(time, POD, namespace, own, body, None, wanted.duration)


def _equal_pod(
    wanted: PodsSpec, group: str, namespace: str, owner: JsonObject | None
) -> JsonObject:
    """One of the equal pods, with a placeholder for its name."""
    milli = wanted.gpu_milli if wanted.gpus else 0
    neutral = FleetPod(
        "x", 0, 0, wanted.gpus, milli, wanted.gpu_models, wanted.qos, group=group,
        duration_s=None if DURATION in wanted.annotations else wanted.duration,
        estimate_s=None if ESTIMATE in wanted.annotations else wanted.estimate,
    )  # fmt: skip
    pod = pod_object(neutral, namespace)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = "@"
    metadata["labels"] = {**wanted.labels, **metadata.get("labels", {})}
    metadata["annotations"] = {**wanted.annotations, **metadata.get("annotations", {})}
    if owner:
        metadata["ownerReferences"] = [owner]
    if wanted.priority:
        spec["priority"] = wanted.priority
    requests = {"cpu": str(wanted.cpu), "memory": str(wanted.memory)}
    requests |= {name: str(amount) for name, amount in wanted.resources.items()}
    container = spec["containers"][0]
    container["resources"] = requirements({**container["resources"]["requests"], **requests})
    spec.update(wanted.spec)
    return pod


def _owner(wanted: PodsSpec, name: str, context: WorkContext) -> JsonObject:
    """The owner reference of the pods."""
    kind = _OWNERS[wanted.owner]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name,
        "uid": context.rng.child("owner").uid(),
        "controller": True,
    }
