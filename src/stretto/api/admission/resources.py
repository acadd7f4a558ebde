"""Requests from limits, in containers and of whole pods, as the API server defaults them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from stretto.api.admission.request import JsonObject
from stretto.api.types import effective_requests
from stretto.api.types.pod import Container, PodSpec
from stretto.api.wire import quantity
from stretto.api.wire.resources import HUGE_PAGES


class PodAmounts(NamedTuple):
    """Effective amounts of a pod in thousandths."""

    #: Requests.
    requests: dict[str, int]
    #: Limits.
    limits: dict[str, int]


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    """The init containers and containers of a pod."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def default_requests(spec: JsonObject) -> None:
    """Set the default requests of a pod.

    The default request of a container is its limit. The default pod-level request of a pod with
    pod-level limits is the sum of its containers' requests, otherwise the limit.
    """
    for container in containers_of(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        if limits:
            requests = {**limits, **(resources.get("requests") or {})}
            container["resources"] = {**resources, "requests": requests}
    if spec.get("resources"):
        _default_pod_level(spec)


def _default_pod_level(spec: JsonObject) -> None:
    """Default the pod-level limits of hugepages, then the pod-level requests."""
    whole = dict(spec["resources"])
    inside = amounts_of({**spec, "resources": None, "overhead": None})
    limits = dict(whole.get("limits") or {})
    requests = dict(whole.get("requests") or {})
    if limits or requests:
        for name, amount in inside.limits.items():
            if name.startswith(HUGE_PAGES) and name not in requests:
                limits.setdefault(name, printed(name, amount))
    if limits:
        for name, amount in inside.requests.items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, printed(name, amount))
        for name, limit in limits.items():
            if effective_requests.is_pod_level(name):
                requests.setdefault(name, limit)
    found = {"limits": limits, "requests": requests}
    spec["resources"] = whole | {key: amounts for key, amounts in found.items() if amounts}


def amounts_of(spec: JsonObject) -> PodAmounts:
    """Effective requests and limits of a pod, with pod-level amounts and overhead."""
    typed = msgspec.convert(_stripped(spec), PodSpec)

    def requested(container: Container, path: str) -> dict[str, int]:
        return effective_requests.requested_by(container, {}, path)

    def limited(container: Container, path: str) -> dict[str, int]:
        return effective_requests.thousandths(container.resources.limits, path)

    whole = typed.resources
    stated = whole.requests if whole else {}
    requests = effective_requests.summed(
        typed, requested, effective_requests.thousandths(stated, "spec.resources.requests")
    )
    bounds = whole.limits if whole else {}
    bare = msgspec.structs.replace(typed, overhead={})
    limits = effective_requests.summed(
        bare, limited, effective_requests.thousandths(bounds, "spec.resources.limits")
    )
    overhead = effective_requests.thousandths(typed.overhead, "spec.overhead")
    for name, amount in overhead.items():
        if limits.get(name):
            limits[name] += amount
    return PodAmounts(requests, limits)


def printed(name: str, thousandths: int) -> str:
    """Format an amount in thousandths in the canonical form of Kubernetes."""
    if name.rpartition(".")[2] == "cpu" or thousandths % 1000:
        return quantity.format_milli(thousandths)
    plain = name.removeprefix("requests.").removeprefix("limits.")
    if plain == "storage" or plain.endswith(".storage"):
        plain = "memory"
    return quantity.format_amount(plain, thousandths // 1000)


def _stripped(spec: JsonObject) -> dict[str, Any]:
    """The members of a spec that affect its amounts."""
    names = ("containers", "initContainers", "resources", "overhead")
    return {name: spec[name] for name in names if spec.get(name)}
