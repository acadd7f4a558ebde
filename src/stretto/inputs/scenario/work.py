"""From a scenario's workloads to what is there at the start and what arrives."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.api.codec import decode_as
from stretto.api.types.heads import decode_object_head, decode_pod_head
from stretto.api.types.pod import Pod
from stretto.api.validation import validate
from stretto.api.wire.kinds import JOB, POD, POD_GROUP, REPLICA_SET, STATEFUL_SET, Kind
from stretto.base.errors import InputError, UnknownNameError
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.manifests import ManifestOptions, load_objects
from stretto.inputs.objects.objects import DURATION, JsonObject, pod_group_body, pod_object
from stretto.inputs.objects.pod_templates import PodTemplates, TemplateSpec
from stretto.inputs.objects.relations import InputObject
from stretto.inputs.scenario.arrivals import ObjectArrival, WorkContext, WorkloadArrivals, times_of
from stretto.inputs.scenario.schema import PodsSpec, SyntheticPods, WorkloadSpec
from stretto.inputs.scenario.trace_source import trace_arrivals

_OWNERS: Final[dict[str, Kind]] = {
    "ReplicaSet": REPLICA_SET,
    "StatefulSet": STATEFUL_SET,
    "Job": JOB,
}
"""The controllers that equal pods may say they belong to."""
_OVER: Final = ("Succeeded", "Failed")
"""Phases of pods that have ended."""
_NAME: Final = b'"name":"@"'
"""Where a pod's own name goes: the first one in its JSON."""


def make_work(spec: WorkloadSpec, context: WorkContext) -> WorkloadArrivals:
    """The objects and arrivals of one workload."""
    if spec.manifests is not None:
        return _from_manifests(spec, context)
    if spec.synthetic is not None:
        return WorkloadArrivals((), _synthetic(spec, spec.synthetic, context))
    if spec.pods is not None:
        _check_models(spec.pods, context)
        return WorkloadArrivals((), list(_equal_pods(spec, spec.pods, context)))
    return WorkloadArrivals((), list(trace_arrivals(spec, context)))


def _check_models(wanted: PodsSpec, context: WorkContext) -> None:
    """Refuse a GPU model that no machine has, where there are GPUs of known models at all."""
    models = {node.gpu_model for node in context.nodes if node.gpus}
    for index, model in enumerate(wanted.gpu_models):
        if models and model not in models:
            near = UnknownNameError("GPU model", model, models).nearest
            hint = f"did you mean {near[0]!r}?" if near else "add such a machine, or drop the model"
            expected = f"a GPU model of the fleet ({', '.join(sorted(models))})"
            raise InputError(f"pods.gpu_models[{index}]", model, expected, hint)


def _from_manifests(spec: WorkloadSpec, context: WorkContext) -> WorkloadArrivals:
    """Pods that wait arrive; all else is there from the start."""
    scenario = context.scenario
    options = ManifestOptions(scenario.namespace, spec.missing_owners == "keep")
    paths = [scenario.path(path) for path in spec.manifests or ()]
    found = load_objects(paths, options, context.node_objects)
    waiting = [each for each in found if _waits(each)]
    times = times_of(spec.arrival, len(waiting), context.rng).tolist()
    return WorkloadArrivals(
        [(each.kind, each.body) for each in found if not _waits(each)],
        [
            ObjectArrival(time, each.kind, each.namespace, each.name, each.body)
            for time, each in zip(times, waiting, strict=True)
        ],
    )


def _waits(item: InputObject) -> bool:
    """Whether an object is a pod that no node runs or has run."""
    if item.kind is not POD:
        return False
    head = decode_pod_head(item.body)
    return not head.spec.node_name and head.status.phase not in _OVER


def _synthetic(
    spec: WorkloadSpec, wanted: SyntheticPods, context: WorkContext
) -> list[ObjectArrival]:
    """Pods from templates, unit by unit, each PodGroup before its pods."""
    zones = {node.zone for node in context.nodes if node.zone}
    shape = TemplateSpec(
        wanted.classes,
        wanted.constrained,
        wanted.units,
        wanted.gangs,
        max(1, len(zones)),
        context.scenario.namespace,
        spec.name or context.prefix,
    )
    source = PodTemplates(shape, context.rng.child("pods"))
    bodies = source.bodies(wanted.count)
    units = -(-len(bodies) // wanted.units)
    times = times_of(spec.arrival, units, context.rng).tolist()
    groups = [
        _arrival(time, POD_GROUP, body)
        for time, body in zip(times, source.group_bodies, strict=False)
    ]
    pods = [_arrival(times[row // wanted.units], POD, body) for row, body in enumerate(bodies)]
    return groups + pods


def _arrival(time: float, kind: Kind, body: bytes) -> ObjectArrival:
    """An arrival whose name is in its body."""
    meta = decode_object_head(body).metadata
    return ObjectArrival(time, kind, meta.namespace, meta.name, body)


def _equal_pods(
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
            validate(decode_as(Pod, head + b'"name":"%s"' % name.encode() + tail, where))
        for number in range(unit * per_unit, (unit + 1) * per_unit):
            own = f"{name}-{number}"
            body = head + b'"name":"%s"' % own.encode() + tail
            yield ObjectArrival(time, POD, namespace, own, body, None, wanted.duration)


def _equal_pod(
    wanted: PodsSpec, group: str, namespace: str, owner: JsonObject | None
) -> JsonObject:
    """One of the equal pods, its name left open."""
    milli = wanted.gpu_milli if wanted.gpus else 0
    neutral = FleetPod(
        "x", 0, 0, wanted.gpus, milli, wanted.gpu_models, wanted.qos, group=group,
        duration_s=None if DURATION in wanted.annotations else wanted.duration,
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
    asked = {"cpu": str(wanted.cpu), "memory": str(wanted.memory)}
    asked |= {name: str(amount) for name, amount in wanted.resources.items()}
    spec["containers"][0]["resources"]["requests"].update(asked)
    spec.update(wanted.spec)
    return pod


def _owner(wanted: PodsSpec, name: str, context: WorkContext) -> JsonObject:
    """The reference to the controller that the pods say they belong to."""
    kind = _OWNERS[wanted.owner]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name,
        "uid": context.rng.child("owner").uid(),
        "controller": True,
    }
