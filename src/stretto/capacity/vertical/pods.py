"""Pods of a target, with their measurements in metrics.k8s.io and their out-of-memory kills."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.types.capacity.metrics import ContainerMetrics, PodMetrics
from stretto.api.wire.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Kind,
)
from stretto.api.wire.quantity import thousandths
from stretto.base.clock import timestamp_or_none
from stretto.base.errors import InputError
from stretto.capacity.autoscaling.pods import running_containers
from stretto.capacity.vertical.workload import ContainerKill, ContainerSample, PodMeasurements
from stretto.reconcile.cache import StoreCache, StoredObject

TARGETS: Final[Mapping[str, Kind]] = {
    kind.kind: kind for kind in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, REPLICA_SET, JOB)
}
"""Kinds of targets, by name."""
FOLLOWED: Final = (*TARGETS.values(), POD)
"""Kinds that evaluations read."""
FRESH_S: Final = 600.0
"""Age in seconds at which a measurement is too old to count."""
AHEAD_S: Final = 60.0
"""Seconds by which the clock of a node may be ahead."""
OOM_KILLED: Final = "OOMKilled"
"""Reason of a container that was killed for lack of memory."""

Fields = Mapping[str, Any]


def target_of(cache: StoreCache, namespace: str, target: ScaleTargetRef) -> StoredObject:
    """Return the workload of a target.

    Raises:
        InputError: the kind is not supported, the workload does not exist, or another workload
            manages it.
    """
    kind = TARGETS.get(target.kind)
    if kind is None:
        raise InputError("spec.targetRef.kind", target.kind, f"one of {', '.join(TARGETS)}")
    found = cache.follow(kind).get(namespace, target.name)
    if found is None:
        expected = f"an existing {target.kind} in namespace {namespace}"
        raise InputError("spec.targetRef.name", target.name, expected)
    for owner in found.metadata.get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") in (*TARGETS, "CronJob"):
            expected = "a workload without an owner, because all its workloads share one history"
            hint = f"name {owner['kind']} {owner.get('name')}"
            raise InputError("spec.targetRef.name", target.name, expected, hint)
    return found


def measured_pods(
    pods: Iterable[StoredObject], metrics: Mapping[str, PodMetrics], now: float
) -> list[PodMeasurements]:
    """Return pods with their current measurements and kills.

    Args:
        pods: the pods.
        metrics: metrics of the pods of their namespace, by name.
        now: seconds since the epoch.
    """
    return [_measured(pod, metrics.get(pod.record.name), now) for pod in pods]


def _measured(pod: StoredObject, metrics: PodMetrics | None, now: float) -> PodMeasurements:
    containers = {each["name"]: each for each in running_containers(pod.spec)}
    samples: tuple[ContainerSample, ...] = ()
    if metrics is not None:
        at = timestamp_or_none(metrics.timestamp)
        if at is not None and -AHEAD_S <= now - at <= FRESH_S:
            found = (_sample(each, at) for each in metrics.containers if each.name in containers)
            samples = tuple(each for each in found if each is not None)
    kills = tuple(_kills(pod, containers))
    return PodMeasurements(pod.record.uid, tuple(containers), samples, kills)


def _sample(metrics: ContainerMetrics, at_s: float) -> ContainerSample | None:
    """Return a measurement; ``None`` if it contains no possible amount."""
    cpu, memory = (_used(metrics, resource) for resource in ("cpu", "memory"))
    if cpu is None and memory is None:
        return None
    cores = None if cpu is None else cpu / 1000
    return ContainerSample(
        metrics.name, at_s, cores, None if memory is None else -(-memory // 1000)
    )


def _used(metrics: ContainerMetrics, resource: str) -> int | None:
    """Return the thousandths of a measured amount; ``None`` if it is missing or impossible."""
    stated = metrics.usage.get(resource)
    try:
        found = None if stated is None else thousandths(stated, f"metrics of {metrics.name}")
    except InputError:
        return None
    return None if found is None or found < 0 else found


def _kills(pod: StoredObject, containers: Mapping[str, Fields]) -> Iterator[ContainerKill]:
    """Yield the last out-of-memory kill of each container."""
    status = pod.status
    listed = [
        *(status.get("containerStatuses") or ()),
        *(status.get("initContainerStatuses") or ()),
    ]
    for each in listed:
        name = each.get("name")
        for state in (each.get("state"), each.get("lastState")):
            ended = (state or {}).get("terminated") or {}
            at = timestamp_or_none(ended.get("finishedAt"))
            if ended.get("reason") == OOM_KILLED and at is not None and name in containers:
                yield ContainerKill(name, at, _requested(containers[name]))
                break


def _requested(container: Fields) -> int:
    """Return the requested memory of a container in bytes; 0 without a request."""
    requests = (container.get("resources") or {}).get("requests") or {}
    stated = requests.get("memory")
    return 0 if stated is None else -(-thousandths(stated, "resources.requests.memory") // 1000)
