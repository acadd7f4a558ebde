"""LimitRanges: defaults of containers, and bounds of containers, pods and PVCs."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, forbidden
from stretto.api.admission.resources import amounts_of, printed
from stretto.api.wire.kinds import LIMIT_RANGE, PERSISTENT_VOLUME_CLAIM, POD, Kind
from stretto.api.wire.limits import MAX_VALUES
from stretto.api.wire.quantity import thousandths

_NOTE: Final = "kubernetes.io/limit-ranger"
"""Annotation in which the plugin lists the values that it has set."""

_TOO_MANY: Final = f"a LimitRange sets more than {MAX_VALUES} amounts on the containers of the pod"

_Amounts = Mapping[str, int]
_Check = Callable[[str, str, int, _Amounts, _Amounts], str]


def default_items(item: JsonObject) -> None:
    """Default a LimitRange: maximum to default, default and minimum to request."""
    for each in (item.get("spec") or {}).get("limits") or ():
        if each.get("type") == "Container":
            default = {**(each.get("max") or {}), **(each.get("default") or {})}
            request = {**(each.get("min") or {}), **default, **(each.get("defaultRequest") or {})}
            each["default"], each["defaultRequest"] = default, request


def default_pod(request: AdmissionRequest, pod: JsonObject, view: ObjectView) -> None:
    """Set the default requests and limits of the namespace on the containers of a pod.

    Raises:
        ForbiddenError: these are more values than a pod may have.
    """
    left = MAX_VALUES
    for limits in view.list(LIMIT_RANGE, _namespace(request, pod)):
        requests: dict[str, Any] = {}
        bounds: dict[str, Any] = {}
        for each in limits["spec"].get("limits") or ():
            if each.get("type") == "Container":
                requests |= each.get("defaultRequest") or {}
                bounds |= each.get("default") or {}
        notes: list[str] = []
        for word, name in (("container", "containers"), ("init container", "initContainers")):
            for container in pod["spec"].get(name) or ():
                left -= len(requests) + len(bounds)
                if left < 0:
                    raise forbidden(request, _TOO_MANY, "name fewer resources in it", "spec")
                notes += _merged(container, requests, bounds, word)
        if notes:
            known = pod["metadata"].get("annotations") or {}
            note = f"LimitRanger plugin set: {'; '.join(notes)}"
            pod["metadata"]["annotations"] = {**known, _NOTE: note}


def check_bounds(request: AdmissionRequest, item: JsonObject, view: ObjectView) -> None:
    """Refuse a pod or a PVC outside the bounds of its namespace.

    Raises:
        ForbiddenError: a bound is violated; the message contains all violations.
    """
    for limits in view.list(LIMIT_RANGE, _namespace(request, item)):
        entries = limits["spec"].get("limits") or ()
        found = chain.from_iterable(_violations(request.kind, each, item) for each in entries)
        broken = list(dict.fromkeys(found))
        if broken:
            text = broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]"
            hint = f"LimitRange {limits['metadata']['name']} sets this bound"
            raise forbidden(request, text, hint, "spec")


def _merged(
    container: JsonObject, requests: JsonObject, limits: JsonObject, word: str
) -> Iterator[str]:
    """Default the amounts of a container; yield a note for each set value."""
    resources = container.get("resources") or {}
    notes = []
    for key, title, more in (("limits", "limit", limits), ("requests", "request", requests)):
        given = resources.get(key) or {}
        new = sorted(more.keys() - given.keys())
        if new:
            resources = {**resources, key: {**more, **given}}
            notes.append(f"{', '.join(new)} {title} for {word} {container.get('name', '')}")
    container["resources"] = resources
    return reversed(notes)


def _violations(kind: Kind, bound: JsonObject, item: JsonObject) -> Iterator[str]:
    """The violations of one entry of a LimitRange."""
    type_, spec = bound.get("type"), item.get("spec") or {}
    if kind == PERSISTENT_VOLUME_CLAIM and type_ == "PersistentVolumeClaim":
        requests = _thousandths((spec.get("resources") or {}).get("requests"))
        yield from _broken("min", _below, bound, requests, {})
        yield from _broken("max", _above_request, bound, requests, {})
    elif kind == POD and type_ == "Container":
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            requests = _thousandths(resources.get("requests"))
            yield from _all_broken(bound, requests, _thousandths(resources.get("limits")))
    elif kind == POD and type_ == "Pod":
        whole = amounts_of({**spec, "overhead": None})
        yield from _all_broken(bound, whole.requests, whole.limits)


def _all_broken(bound: JsonObject, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    """Violations of the minimum, the maximum and the ratio."""
    yield from _broken("min", _below, bound, requests, limits)
    yield from _broken("max", _above, bound, requests, limits)
    yield from _broken("maxLimitRequestRatio", _ratio, bound, requests, limits)


def _broken(
    key: str, check: _Check, bound: JsonObject, requests: _Amounts, limits: _Amounts
) -> Iterator[str]:
    """Violations of one bound, by resource."""
    for name, text in (bound.get(key) or {}).items():
        amount = thousandths(text, f"spec.limits.{key}.{name}")
        found = check(name, bound["type"], amount, requests, limits)
        if found:
            yield found


def _below(name: str, type_: str, least: int, requests: _Amounts, limits: _Amounts) -> str:
    title = f"minimum {name} usage per {type_} is {printed(name, least)}"
    if name not in requests:
        return f"{title}.  No request is specified"
    if requests[name] < least:
        return f"{title}, but request is {printed(name, requests[name])}"
    if limits.get(name, least) < least:
        return f"{title}, but limit is {printed(name, limits[name])}"
    return ""


def _above_request(name: str, type_: str, most: int, requests: _Amounts, _: _Amounts) -> str:
    title = f"maximum {name} usage per {type_} is {printed(name, most)}"
    if name not in requests:
        return f"{title}.  No request is specified"
    if requests[name] > most:
        return f"{title}, but request is {printed(name, requests[name])}"
    return ""


def _above(name: str, type_: str, most: int, requests: _Amounts, limits: _Amounts) -> str:
    title = f"maximum {name} usage per {type_} is {printed(name, most)}"
    if name not in limits:
        return f"{title}.  No limit is specified"
    if limits[name] > most:
        return f"{title}, but limit is {printed(name, limits[name])}"
    if requests.get(name, 0) > most:
        return f"{title}, but request is {printed(name, requests[name])}"
    return ""


def _ratio(name: str, type_: str, most: int, requests: _Amounts, limits: _Amounts) -> str:
    title = f"{name} max limit to request ratio per {type_} is {printed('', most)}"
    if not requests.get(name):
        return f"{title}, but no request is specified or request is 0"
    if not limits.get(name):
        return f"{title}, but no limit is specified or limit is 0"
    ratio = limits[name] / requests[name]
    return f"{title}, but provided ratio is {ratio:f}" if ratio * 1000 > most else ""


def _thousandths(amounts: Mapping[str, Any] | None) -> dict[str, int]:
    """A resource list in thousandths."""
    return {name: thousandths(each, name) for name, each in (amounts or {}).items()}


def _namespace(request: AdmissionRequest, item: JsonObject) -> str:
    """The namespace of an object."""
    return item["metadata"].get("namespace") or request.namespace
