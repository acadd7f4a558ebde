"""What a pod takes, in the four ways in which kube-scheduler adds it up.

The filter counts pod-level requests; the least-allocated score of a pending pod does not, but
gives every container that is silent a default; running pods count what a resize has in force.
The sums are upstream's ``PodRequests`` with its options, in thousandths, rounded once at the end.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from stretto.api import quantity
from stretto.api.pods import Container, ContainerStatus, Pod
from stretto.api.resources import ResourceList

Amounts = dict[str, int]

DEFAULT_CPU: Final = 100
"""Thousandths of a core that scores assume of a container that asks for none."""
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""Bytes that scores assume of a container that asks for none."""
DEFAULTS: Final[Mapping[str, int]] = {"cpu": DEFAULT_CPU, "memory": DEFAULT_MEMORY * 1000}
"""Both, in thousandths."""
CPU: Final = "cpu"
MEMORY: Final = "memory"
STORAGE: Final = "ephemeral-storage"


class Counting(NamedTuple):
    """How to add up."""

    #: Whether what the node has in force counts (pods under resize).
    status: bool = True
    #: Whether pod-level requests stand in for the containers'.
    pod_level: bool = True
    #: What a container that does not name a resource counts with, in thousandths.
    missing: Mapping[str, int] = {}


def is_scalar(name: str) -> bool:
    """Whether nodes count a resource beside cpu, memory and storage."""
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.")


def is_pod_level(name: str) -> bool:
    """Whether a pod may ask for a resource as a whole."""
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def filter_requests(pod: Pod) -> Amounts:
    """What a pending pod must find free."""
    return rounded(total(pod, Counting(status=False)))


def fit_score_requests(pod: Pod) -> tuple[int, int]:
    """Amounts of cpu and memory that the least-allocated score adds for a pending pod."""
    sums = rounded(total(pod, Counting(status=False, pod_level=False, missing=DEFAULTS)))
    return sums.get(CPU, 0), sums.get(MEMORY, 0)


def balance_requests(pod: Pod) -> tuple[int, int]:
    """Amounts of cpu and memory that the balance score adds for a pending pod."""
    sums = rounded(total(pod, Counting()))
    return sums.get(CPU, 0), sums.get(MEMORY, 0)


def running(pod: Pod) -> tuple[Amounts, int, int]:
    """What a pod on a node takes; and cpu and memory as the least-allocated score sees them."""
    plain = total(pod, Counting())
    missing = DEFAULTS
    if asks_as_a_whole(pod):
        missing = {name: each for name, each in DEFAULTS.items() if name not in plain}
    seen = rounded(total(pod, Counting(missing=missing)) if missing else plain)
    return rounded(plain), seen.get(CPU, 0), seen.get(MEMORY, 0)


def asks_as_a_whole(pod: Pod) -> bool:
    """Whether a pod has pod-level requests."""
    whole = pod.spec.resources
    return whole is not None and any(map(is_pod_level, whole.requests))


def rounded(sums: Mapping[str, int]) -> Amounts:
    """Thousandths as nodes count: cpu as it is, the rest in units, rounded up."""
    return {name: each if name == CPU else -(-each // 1000) for name, each in sums.items()}


def total(pod: Pod, how: Counting) -> Amounts:
    """The sum over a pod, in thousandths."""
    told = _told(pod) if how.status else {}
    sums: Amounts = {}
    for container in pod.spec.containers:
        _add(sums, _of(pod, container, told, how))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        asked = _of(pod, container, told if container.sidecar else {}, how)
        if container.sidecar:
            _add(sums, asked)
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            moment = dict(asked)
            _add(moment, sidecars)
            _raise(peak, moment)
    _raise(sums, peak)
    if how.pod_level and asks_as_a_whole(pod):
        sums.update(_whole(pod, how))
    _add(sums, _thousandths(pod.spec.overhead))
    return sums


def _told(pod: Pod) -> dict[str, ContainerStatus]:
    """Container statuses by name."""
    status = pod.status
    return {
        each.name: each for each in (*status.container_statuses, *status.init_container_statuses)
    }


def _of(
    pod: Pod, container: Container, told: Mapping[str, ContainerStatus], how: Counting
) -> Mapping[str, int]:
    """What one container counts with."""
    asked = _thousandths(container.resources.requests)
    status = told.get(container.name)
    if status is not None and status.resources is not None:
        lists = (status.resources.requests, status.allocated_resources)
        asked = _in_force(pod, asked, lists)
    if how.missing:
        asked = {**how.missing, **asked}
    return asked


def _whole(pod: Pod, how: Counting) -> Amounts:
    """Pod-level requests, or what is in force of them."""
    assert pod.spec.resources is not None
    asked = _thousandths(pod.spec.resources.requests)
    names = [name for name in asked if is_pod_level(name)]
    if how.status and pod.status.resources is not None:
        lists = (pod.status.resources.requests, pod.status.allocated_resources)
        asked = _in_force(pod, asked, lists)
    return {name: asked.get(name, 0) for name in names}


def _in_force(pod: Pod, wanted: Amounts, told: Iterable[ResourceList]) -> Amounts:
    """The largest of wanted, set aside and in force; a resize that is infeasible is not wanted."""
    pending = pod.status.condition("PodResizePending")
    infeasible = pending is not None and pending.reason == "Infeasible"
    largest: Amounts = {} if infeasible else dict(wanted)
    for each in told:
        _raise(largest, _thousandths(each))
    return largest


def _thousandths(resources: ResourceList) -> Amounts:
    return {name: quantity.thousandths(each, name) for name, each in resources.items()}


def _add(sums: Amounts, more: Mapping[str, int]) -> None:
    for name, each in more.items():
        sums[name] = sums.get(name, 0) + each


def _raise(sums: Amounts, least: Mapping[str, int]) -> None:
    for name, each in least.items():
        if name not in sums or each > sums[name]:
            sums[name] = each
