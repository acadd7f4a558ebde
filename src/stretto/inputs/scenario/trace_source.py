"""A trace as a workload: its pods in order, with names, gangs and times.

With ``arrive_pct`` the pods are drawn by the protocol of the openb study with the scenario's seed,
so ``stretto run`` receives the same input as ``stretto compare``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stretto.api.admission.field_rules import check_new
from stretto.api.codec import set_fields
from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.inputs.neutral.fleet import Fleet, FleetPod
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.objects import object_name, pod_body, pod_group_body
from stretto.inputs.scenario.arrivals import (
    ObjectArrival,
    Times,
    WorkContext,
    numbered_units,
    times_of,
)
from stretto.inputs.scenario.format_keys import BUNDLED, trace_of
from stretto.inputs.scenario.schema import TraceFields, WorkloadSpec
from stretto.inputs.traces.openb.protocol import ArrivalOrder, protocol_input

T = TypeVar("T")


def trace_arrivals(spec: WorkloadSpec, context: WorkContext) -> Iterator[ObjectArrival]:
    """The pods of a trace, each preceded by its PodGroup."""
    pods = _trace_pods(spec, context)
    prefix, namespace = spec.name and f"{spec.name}-", context.scenario.namespace
    units = numbered_units([pod.group for pod in pods])
    times = times_of(spec.arrival, sum(first for first, _ in units), context.rng)
    fields = _fields(spec.fields)
    if fields and pods:
        first_pod = set_fields(pod_body(pods[0], namespace), fields)
        with inside(f"{context.scenario.where}: fields"):
            check_new(POD, first_pod)
    sizes: dict[str, int] = {}
    for pod in pods:
        sizes[pod.group] = sizes.get(pod.group, 0) + 1
    for pod, (first, unit) in zip(pods, units, strict=True):
        start, end, duration = _when(pod, spec, times, unit)
        if end is not None and end <= start:
            continue
        named = msgspec.structs.replace(pod, duration_s=duration)
        if prefix:
            group = pod.group and prefix + pod.group
            named = msgspec.structs.replace(named, name=prefix + pod.name, group=group)
        if first and named.group:
            group_name = object_name(named.group)
            body = pod_group_body(group_name, sizes[pod.group], namespace)
            yield ObjectArrival(start, POD_GROUP, namespace, group_name, body)
        body = set_fields(pod_body(named, namespace), fields)
        yield ObjectArrival(start, POD, namespace, object_name(named.name), body, end, duration)


def _fields(given: TraceFields | None) -> dict[tuple[str | int, ...], Any]:
    """The fields that every pod of a trace gets, by path."""
    if given is None:
        return {}
    found: dict[tuple[str | int, ...], Any] = {}
    for part, values in (("labels", given.labels), ("annotations", given.annotations)):
        found |= {("metadata", part, key): value for key, value in values.items()}
    return found | {("spec", key): value for key, value in given.spec.items()}


def _trace_pods(spec: WorkloadSpec, context: WorkContext) -> Sequence[FleetPod]:
    """The pods of a trace in order of arrival."""
    scenario, limit, trace = context.scenario, spec.limit, trace_of(spec)
    assert trace is not None
    found, keys = trace.format, trace.keys
    bundled = found.bundled() if found.bundled is not None and keys == BUNDLED else None
    if bundled is not None:
        items: tuple[Any, ...] = bundled.pods
    else:
        models = {node.gpu_model for node in context.nodes if node.gpu_model}
        keys = found.located(keys, scenario.path)
        items = found.items(Path(getattr(keys, found.file)), models or None, keys)
    if scenario.arrive_pct is None or not found.fills:
        chosen = _shuffled(items, spec, context)[:limit]
        return chosen if bundled is not None else found.pods_for(chosen, keys, context.nodes)
    pods = items if bundled is not None else found.pods_for(items, keys, context.nodes)
    order = ArrivalOrder.FILE if spec.order == "file" else ArrivalOrder.SHUFFLE
    fleet = Fleet(context.nodes, pods[:limit])
    drawn = protocol_input(fleet, scenario.seed, scenario.arrive_pct, order)
    return [
        msgspec.structs.replace(pods[row], name=name, arrival_s=None, departure_s=None)
        for row, name in zip(drawn.arrivals.tolist(), drawn.names, strict=True)
    ]


def _shuffled(items: tuple[T, ...], spec: WorkloadSpec, context: WorkContext) -> tuple[T, ...]:
    """The items of a trace in the order that the scenario selects."""
    if spec.order != "shuffle":
        return items
    rows = context.rng.child("order").numpy().permutation(len(items)).tolist()
    return tuple(items[row] for row in rows)


def _when(
    pod: FleetPod, spec: WorkloadSpec, times: Times, unit: int
) -> tuple[float, float | None, float | None]:
    """(arrival, departure, run time) of a trace's pod in seconds."""
    if spec.arrival is None and not spec.times:
        return 0.0, None, None
    if spec.arrival is None:
        return pod.arrival_s or 0.0, pod.departure_s, pod.duration_s
    duration = pod.duration_s
    if pod.departure_s is not None:
        duration = pod.departure_s - (pod.arrival_s or 0.0)
    return float(times[unit]), None, duration if spec.times else None
