"""A trace as a workload: its pods in order, with names, gangs and times.

With ``arrive_pct`` the openb pods are drawn as the published study draws them, from the scenario's
own seed, so that ``stretto run`` is fed with what ``stretto compare`` is fed with.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.inputs.neutral.fleet import Fleet, FleetPod
from stretto.inputs.objects.objects import object_name, pod_body, pod_group_body
from stretto.inputs.scenario.arrivals import (
    ObjectArrival,
    Times,
    WorkContext,
    numbered_units,
    times_of,
)
from stretto.inputs.scenario.schema import WorkloadSpec
from stretto.inputs.traces.azure_vm import Lifetime, load_vms, vm_pods
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.protocol import ArrivalOrder, protocol_input
from stretto.inputs.traces.openb.reader import load_pods
from stretto.inputs.traces.philly import job_pods, load_jobs

T = TypeVar("T")


def trace_arrivals(spec: WorkloadSpec, context: WorkContext) -> Iterator[ObjectArrival]:
    """The pods of a trace, each with its PodGroup before it."""
    pods = _trace_pods(spec, context)
    prefix, namespace = spec.name and f"{spec.name}-", context.scenario.namespace
    units = numbered_units([pod.group for pod in pods])
    times = times_of(spec.arrival, sum(first for first, _ in units), context.rng)
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
        body = pod_body(named, namespace)
        yield ObjectArrival(start, POD, namespace, object_name(named.name), body, end, duration)


def _trace_pods(spec: WorkloadSpec, context: WorkContext) -> Sequence[FleetPod]:
    """The pods of a trace in the order in which they come."""
    scenario, limit = context.scenario, spec.limit
    if spec.philly is not None:
        jobs = load_jobs(scenario.path(spec.philly.jobs))
        return job_pods(_shuffled(jobs, spec, context)[:limit])
    if spec.azure_vm is not None:
        vms = load_vms(scenario.path(spec.azure_vm.vms))
        chosen = _shuffled(vms, spec, context)[:limit]
        return vm_pods(chosen, Lifetime(spec.azure_vm.lifetime), gangs=spec.azure_vm.gangs)
    if spec.openb is None or spec.openb == "bundled":
        pods = bundled_openb().pods
    else:
        models = {node.gpu_model for node in context.nodes if node.gpu_model}
        pods = load_pods(scenario.path(spec.openb.pods), models or None)
    if scenario.arrive_pct is None:
        return _shuffled(pods, spec, context)[:limit]
    order = ArrivalOrder.FILE if spec.order == "file" else ArrivalOrder.SHUFFLE
    fleet = Fleet(context.nodes, pods[:limit])
    drawn = protocol_input(fleet, scenario.seed, scenario.arrive_pct, order)
    return [
        msgspec.structs.replace(pods[row], name=name, arrival_s=None, departure_s=None)
        for row, name in zip(drawn.arrivals.tolist(), drawn.names, strict=True)
    ]


def _shuffled(items: tuple[T, ...], spec: WorkloadSpec, context: WorkContext) -> tuple[T, ...]:
    """A trace's rows in the order that the scenario asks for."""
    if spec.order != "shuffle":
        return items
    rows = context.rng.child("order").numpy().permutation(len(items)).tolist()
    return tuple(items[row] for row in rows)


def _when(
    pod: FleetPod, spec: WorkloadSpec, times: Times, unit: int
) -> tuple[float, float | None, float | None]:
    """When a trace's pod comes, when it leaves, and how long it runs."""
    if spec.arrival is None and not spec.times:
        return 0.0, None, None
    if spec.arrival is None:
        return pod.arrival_s or 0.0, pod.departure_s, pod.duration_s
    duration = pod.duration_s
    if pod.departure_s is not None:
        duration = pod.departure_s - (pod.arrival_s or 0.0)
    return float(times[unit]), None, duration if spec.times else None
