"""Cells of services, volumes, events and other core kinds."""

from typing import Any, Final

from stretto.web.api.tables.values import (
    NONE,
    UNSET,
    age,
    containers,
    labels_text,
    selector_cell,
    since,
    spec,
    status,
)

Json = dict[str, Any]

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_NOTE: Final = "volume.beta.kubernetes.io/storage-class"
_SHOWN: Final = 3


def config_map(item: Json, now: float) -> list[Any]:
    """Number of entries and age."""
    count = len(item.get("data") or {}) + len(item.get("binaryData") or {})
    return [count, age(item, now)]


def secret(item: Json, now: float) -> list[Any]:
    """Type, number of entries, age."""
    return [item.get("type", ""), len(item.get("data") or {}), age(item, now)]


def namespace(item: Json, now: float) -> list[Any]:
    """Phase and age."""
    return [status(item).get("phase", ""), age(item, now)]


def account(item: Json, now: float) -> list[Any]:
    """Age."""
    return [age(item, now)]


def component(item: Json, _now: float) -> list[Any]:
    """Health of a component, its message and its error."""
    for each in item.get("conditions") or ():
        if each.get("type") == "Healthy":
            state = "Healthy" if each.get("status") == "True" else "Unhealthy"
            return [state, each.get("message", ""), each.get("error", "")]
    return ["Unknown", "", ""]


def endpoints(item: Json, now: float) -> list[Any]:
    """Addresses with their ports, and age."""
    found = []
    for subset in item.get("subsets") or ():
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            found += addresses
            continue
        for port in ports:
            found += [_joined(address, port.get("port", 0)) for address in addresses]
    shown = ",".join(found[:_SHOWN])
    more = len(found) - _SHOWN
    return [f"{shown} + {more} more..." if more > 0 else shown or NONE, age(item, now)]


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def service(item: Json, now: float) -> list[Any]:
    """Type, addresses, ports, age, selector."""
    body = spec(item)
    return [
        body.get("type", ""),
        body.get("clusterIP") or NONE,
        _external(item),
        ",".join(_service_port(each) for each in body.get("ports") or ()) or NONE,
        age(item, now),
        labels_text(body.get("selector")),
    ]


def _service_port(port: Json) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node}/{port.get('protocol')}"


def _external(item: Json) -> str:
    body = spec(item)
    own = list(body.get("externalIPs") or ())
    kind = body.get("type")
    if kind == "ExternalName":
        return body.get("externalName") or NONE
    if kind == "LoadBalancer":
        ingress = ((status(item).get("loadBalancer") or {}).get("ingress")) or ()
        given = [each.get("ip") or each.get("hostname", "") for each in ingress]
        return ",".join([*given, *own]) or "<pending>"
    return ",".join(own) or NONE


def event(item: Json, now: float) -> list[Any]:
    """Times, type, reason, object, source, message, count, name."""
    target = item.get("involvedObject") or item.get("regarding") or {}
    series = item.get("series") or {}
    first = item.get("firstTimestamp") or item.get("deprecatedFirstTimestamp")
    last = item.get("lastTimestamp") or item.get("deprecatedLastTimestamp")
    first_text = since(first or item.get("eventTime"), now)
    last_text = since(series.get("lastObservedTime") or last, now) if last or series else first_text
    source = item.get("source") or item.get("deprecatedSource") or {}
    component = source.get("component") or item.get("reportingComponent") or ""
    component = component or item.get("reportingController") or ""
    host = source.get("host") or item.get("reportingInstance") or ""
    count = series.get("count") or item.get("count") or item.get("deprecatedCount") or 1
    subject = "/".join((target.get("kind", "").lower(), *filter(None, (target.get("name"),))))
    return [
        last_text,
        item.get("type", ""),
        item.get("reason", ""),
        subject,
        target.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        (item.get("message") or item.get("note") or "").strip(),
        first_text,
        count,
        item["metadata"].get("name", ""),
    ]


def claim(item: Json, now: float) -> list[Any]:
    """Phase, volume, capacity, modes, classes, age, mode."""
    body, found = spec(item), status(item)
    phase = "Terminating" if item["metadata"].get("deletionTimestamp") else found.get("phase", "")
    volume, capacity, modes = body.get("volumeName", ""), "", ""
    if volume:
        capacity = (found.get("capacity") or {}).get("storage", "0")
        modes = _modes(found.get("accessModes"))
    return [
        phase,
        volume,
        capacity,
        modes,
        _class(item),
        body.get("volumeAttributesClassName") or UNSET,
        age(item, now),
        body.get("volumeMode") or UNSET,
    ]


def volume(item: Json, now: float) -> list[Any]:
    """Capacity, modes, policy, phase, claim, classes, reason, age, mode."""
    body, found = spec(item), status(item)
    phase = "Terminating" if item["metadata"].get("deletionTimestamp") else found.get("phase", "")
    claimed = body.get("claimRef")
    return [
        (body.get("capacity") or {}).get("storage", "0"),
        _modes(body.get("accessModes")),
        body.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claimed.get('namespace')}/{claimed.get('name')}" if claimed else "",
        _class(item),
        body.get("volumeAttributesClassName") or UNSET,
        found.get("reason", ""),
        age(item, now),
        body.get("volumeMode") or UNSET,
    ]


def _class(item: Json) -> str:
    notes = item["metadata"].get("annotations") or {}
    return notes.get(_CLASS_NOTE) or spec(item).get("storageClassName") or ""


def _modes(modes: list[str] | None) -> str:
    found = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def quota(item: Json, now: float) -> list[Any]:
    """Used and hard amounts of requests and of limits, and age."""
    found = status(item)
    hard, used = found.get("hard") or {}, found.get("used") or {}
    texts: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(hard):
        is_limit = name.startswith("limits.")
        texts[is_limit].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [", ".join(texts[False]), ", ".join(texts[True]), age(item, now)]


def pod_template(item: Json, _now: float) -> list[Any]:
    """Containers and labels."""
    template = item.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [*containers(template), labels_text(labels)]


def policy(item: Json, now: float) -> list[Any]:
    """Selector of pods and age."""
    return [selector_cell(spec(item).get("podSelector")), age(item, now)]
