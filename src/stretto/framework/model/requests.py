"""The requests of a pod, summed in the four ways of kube-scheduler.

The filter counts pod-level requests. The least-allocated score of a pending pod does not; it
assumes a default for each container without requests. During a resize, the resources in effect
count for running pods. The sums are upstream's ``PodRequests`` with its options, in thousandths,
rounded once at the end.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stretto.api.types import effective_requests
from stretto.api.types.pod import Container, Pod

Amounts = dict[str, int]

DEFAULT_CPU: Final = 100
"""Thousandths of a core that scores assume for a container without a request."""
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""Bytes that scores assume for a container without a request."""
DEFAULTS: Final[Mapping[str, int]] = {"cpu": DEFAULT_CPU, "memory": DEFAULT_MEMORY * 1000}
"""Both, in thousandths."""
CPU: Final = "cpu"
MEMORY: Final = "memory"
STORAGE: Final = "ephemeral-storage"


class RequestCounting(NamedTuple):
    """Options of the sum."""

    #: True if resources in effect count (pods under resize).
    status: bool = True
    #: True if pod-level requests replace the containers'.
    pod_level: bool = True
    #: Default amounts for a container that does not name a resource, in thousandths.
    missing: Mapping[str, int] = {}


def is_scalar(name: str) -> bool:
    """Return whether nodes count a resource other than cpu, memory and ephemeral storage."""
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.")


def filter_requests(pod: Pod) -> Amounts:
    """Amounts that must be free for a pending pod."""
    return rounded(total(pod, RequestCounting(status=False)))


def fit_score_requests(pod: Pod) -> tuple[int, int]:
    """Amounts of cpu and memory that the least-allocated score adds for a pending pod."""
    sums = rounded(total(pod, RequestCounting(status=False, pod_level=False, missing=DEFAULTS)))
    return sums.get(CPU, 0), sums.get(MEMORY, 0)


def balance_requests(pod: Pod) -> tuple[int, int]:
    """Amounts of cpu and memory that the balance score adds for a pending pod."""
    sums = rounded(total(pod, RequestCounting()))
    return sums.get(CPU, 0), sums.get(MEMORY, 0)


def running(pod: Pod) -> tuple[Amounts, int, int]:
    """Amounts of a pod on a node, and cpu and memory as the least-allocated score counts them."""
    plain = total(pod, RequestCounting())
    missing = DEFAULTS
    if has_pod_level_requests(pod):
        missing = {name: each for name, each in DEFAULTS.items() if name not in plain}
    seen = rounded(total(pod, RequestCounting(missing=missing)) if missing else plain)
    return rounded(plain), seen.get(CPU, 0), seen.get(MEMORY, 0)


def has_pod_level_requests(pod: Pod) -> bool:
    """Return whether a pod has pod-level requests."""
    whole = pod.spec.resources
    return whole is not None and any(map(effective_requests.is_pod_level, whole.requests))


def rounded(sums: Mapping[str, int]) -> Amounts:
    """Convert thousandths to units of nodes: cpu unchanged, the rest in whole units, rounded up."""
    return {name: each if name == CPU else -(-each // 1000) for name, each in sums.items()}


def total(pod: Pod, how: RequestCounting) -> Amounts:
    """The sum over a pod, in thousandths."""
    standing = effective_requests.in_force(pod) if how.status else {}

    def requested(container: Container, where: str) -> Mapping[str, int]:
        """Amounts of one container, with defaults for resources that it does not name."""
        return {**how.missing, **effective_requests.requested_by(container, standing, where)}

    whole = _whole(pod, standing) if how.pod_level and has_pod_level_requests(pod) else {}
    return effective_requests.summed(pod.spec, requested, whole)


def _whole(pod: Pod, standing: Mapping[str, Amounts]) -> Amounts:
    """Pod-level requests, or the resources in effect instead."""
    assert pod.spec.resources is not None
    requested = effective_requests.thousandths(pod.spec.resources.requests, "resources.requests")
    counted = standing.get("", requested)
    return {
        name: counted.get(name, 0) for name in requested if effective_requests.is_pod_level(name)
    }
