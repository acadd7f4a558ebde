"""The pods of a workload and their metrics, as inputs of the calculation."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stretto.api.types.capacity.metrics import ContainerMetrics, PodMetrics
from stretto.api.wire.durations import seconds_of
from stretto.api.wire.quantity import thousandths
from stretto.base.clock import parse_timestamp
from stretto.base.errors import InputError
from stretto.capacity.scaling.readiness import MetricSample, ScaledPod
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.conditions import condition_of

Fields = Mapping[str, Any]


def samples(
    metrics: Iterable[PodMetrics], resource: str, container: str, now: float
) -> dict[str, MetricSample]:
    """Use of a resource by pod, or use of one container of each pod; incomplete pods are skipped.

    Args:
        metrics: the metrics of some pods.
        resource: the resource.
        container: the container; empty for whole pods.
        now: seconds since the epoch.
    """
    found = {}
    for each in metrics:
        parts = [x for x in each.containers if not container or x.name == container]
        values = [_use(part, resource) for part in parts]
        amounts = [value for value in values if value is not None]
        if amounts and len(amounts) == len(values):
            age = now - parse_timestamp(each.timestamp)
            window = seconds_of(each.window, f"metrics of {each.metadata.name}")
            found[each.metadata.name] = MetricSample(sum(amounts), age, window)
    return found


def scaled_pod(name: str, pod: StoredObject, now: float) -> ScaledPod:
    """State of a pod by name, from its status, at seconds since the epoch."""
    conditions = pod.status.get("conditions") or ()
    ready = condition_of(conditions, "Ready")
    started = pod.status.get("startTime")
    changed = ready.get("lastTransitionTime") if ready is not None else None
    return ScaledPod(
        name,
        str(pod.status.get("phase") or ""),
        pod.is_terminating,
        None if ready is None else ready.get("status") == "True",
        None if started is None else now - parse_timestamp(started),
        0.0 if changed is None else now - parse_timestamp(changed),
    )


def request_of(pod: StoredObject, resource: str, container: str) -> int:
    """Request of a pod, or of one container, in milli-units.

    Raises:
        InputError: a container has no request.
    """
    whole = (pod.spec.get("resources") or {}).get("requests") or {}
    if not container and resource in whole:
        return thousandths(whole[resource], f"pod {pod.record.name}: spec.resources")
    return sum(
        _request(pod, each, resource)
        for each in running_containers(pod.spec)
        if not container or each.get("name") == container
    )


def running_containers(spec: Fields) -> Iterator[Fields]:
    """Containers and sidecars of the spec of a pod."""
    yield from spec.get("containers") or ()
    for each in spec.get("initContainers") or ():
        if each.get("restartPolicy") == "Always":
            yield each


def _request(pod: StoredObject, container: Fields, resource: str) -> int:
    requests = (container.get("resources") or {}).get("requests") or {}
    where = f"container {container.get('name')} of pod {pod.record.name}"
    if resource not in requests:
        raise InputError(where, None, f"a request of {resource}", "state resources.requests")
    return thousandths(requests[resource], where)


def _use(part: ContainerMetrics, resource: str) -> int | None:
    stated = part.usage.get(resource)
    return None if stated is None else thousandths(stated, f"metrics of {part.name}")
