"""Rules of ResourceSlices: pools of devices with attributes, counters and taints."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    immutable,
    invalid,
    repeated,
    required,
    too_long,
    too_many,
)
from stretto.api.checks.fields.texts import dns_label, dns_subdomain, driver_name, label_key
from stretto.api.checks.kinds.extension.devices import (
    check_effect,
    check_label,
    check_label_value,
    check_qualified,
)
from stretto.api.checks.kinds.pods.placement import check_node_selector
from stretto.api.checks.kinds.values import Json
from stretto.api.wire.names import SUBDOMAIN_CHARS

_MOST_DEVICES: Final = 128
_MOST_ADVANCED: Final = 64
"""Maximum number of devices if any has taints or consumes counters."""
_MOST_TAINTS: Final = 16
_MOST_CONDITIONS: Final = 4
_MOST_COUNTERS: Final = 2
_VALUE_LIMIT: Final = 64
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_NODE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
_ONE_DEVICE_NODE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_DEVICE_NODE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_IDENTIFIER: Final = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def check_slice(item: Json, old: Json | None) -> Errors:
    """Check a ResourceSlice."""
    spec = item.get("spec") or {}
    driver = spec.get("driver", "")
    found = driver_name(driver, "spec.driver") if driver else [required("spec.driver")]
    found += _pool(spec.get("pool") or {})
    if old is not None:
        found += _fixed(spec, old.get("spec") or {})
    found += _nodes(spec)
    if spec.get("sharedCounters") and spec.get("devices"):
        found.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    return found + _devices(spec) + _counter_sets(spec)


def _fixed(spec: Json, before: Json) -> Errors:
    pools = [(each.get("pool") or {}).get("name") for each in (spec, before)]
    found = [immutable("spec.pool.name", pools[0])] if pools[0] != pools[1] else []
    return found + [
        immutable(f"spec.{name}", spec.get(name))
        for name in ("driver", "nodeName")
        if spec.get(name) != before.get(name)
    ]


def _pool(pool: Json) -> Errors:
    found = _pool_name(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        detail = "must be greater than zero"
        found.append(invalid("spec.pool.resourceSliceCount", count, detail))
    if generation < 0:
        detail = "must be greater than or equal to zero"
        found.append(invalid("spec.pool.generation", generation, detail))
    return found


def _pool_name(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    found = [too_long(path, SUBDOMAIN_CHARS)] if len(name) > SUBDOMAIN_CHARS else []
    return found + [
        invalid(path, part, each) for part in name.split("/") for each in dns_subdomain(part)
    ]


def _nodes(spec: Json) -> Errors:
    """Check that a slice states its nodes in one way."""
    found: Errors = []
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name == "":
        detail = "must be either unset or set to a non-empty string"
        found.append(invalid("spec.nodeName", name, detail))
    elif name is not None:
        found += [invalid("spec.nodeName", name, each) for each in dns_subdomain(name)]
    if selector is not None:
        found += check_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            where = "spec.nodeSelector.nodeSelectorTerms"
            detail = "must have exactly one node selector term"
            found.append(invalid(where, terms or None, detail))
    found += [
        invalid(f"spec.{word}", False, "must be either unset or set to true")
        for word in _NODES[2:]
        if spec.get(word) is False
    ]
    given = [each for each in _NODES if spec.get(each) or (each == _NODES[1] and selector == {})]
    if not given:
        found.append(required("spec", _ONE_NODE))
    elif len(given) > 1:
        shown = f"{{{', '.join(f'`{each}`' for each in given)}}}"
        found.append(invalid("spec", shown, f"{_ONE_NODE}, but multiple fields are set"))
    return found


def _devices(spec: Json) -> Errors:
    devices, per_device = spec.get("devices") or [], bool(spec.get("perDeviceNodeSelection"))
    is_advanced = any(each.get("taints") or each.get("consumesCounters") for each in devices)
    most = _MOST_ADVANCED if is_advanced else _MOST_DEVICES
    if len(devices) > most:
        return [too_many("spec.devices", len(devices), most)]
    found = [
        error
        for index, device in enumerate(devices)
        for error in _device(device, f"spec.devices[{index}]", per_device=per_device)
    ]
    names = [each.get("name", "") for each in devices]
    return found + [
        duplicate(f"spec.devices[{index}]", names[index]) for index in sorted(repeated(names))
    ]


def _device(device: Json, path: str, *, per_device: bool) -> Iterator[Any]:
    yield from check_label(device.get("name", ""), f"{path}.name")
    for key, attribute in sorted((device.get("attributes") or {}).items()):
        yield from check_qualified(key, f"{path}.attributes", needs_domain=False)
        yield from _attribute(attribute, f"{path}.attributes[{key}]")
    for key, capacity in sorted((device.get("capacity") or {}).items()):
        yield from check_qualified(key, f"{path}.capacity", needs_domain=False)
        is_shared = device.get("allowMultipleAllocations")
        if capacity.get("requestPolicy") is not None and not is_shared:
            where = f"{path}.capacity[{key}].requestPolicy"
            yield forbidden(where, "allowMultipleAllocations must be true")
    taints = device.get("taints") or []
    if len(taints) > _MOST_TAINTS:
        yield too_many(f"{path}.taints", len(taints), _MOST_TAINTS)
    else:
        for index, taint in enumerate(taints):
            yield from _taint(taint, f"{path}.taints[{index}]")
    yield from _consumed(device.get("consumesCounters") or [], f"{path}.consumesCounters")
    yield from _device_nodes(device, path, per_device=per_device)
    yield from _conditions(device, path)


def _attribute(attribute: Json, path: str) -> Iterator[Any]:
    """Check that an attribute has one value."""
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and len(text.encode()) > _VALUE_LIMIT:
        yield too_long(f"{path}.string", _VALUE_LIMIT)
    if version is not None:
        if not _VERSION.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            yield invalid(f"{path}.version", version, detail)
        if len(version) > _VALUE_LIMIT:
            yield too_long(f"{path}.version", _VALUE_LIMIT)
    if len(attribute) != 1:
        yield invalid(path, attribute or "", "exactly one value must be specified")


def _taint(taint: Json, path: str) -> Iterator[Any]:
    key, value, effect = (taint.get(each, "") for each in ("key", "value", "effect"))
    yield from (invalid(f"{path}.key", key, each) for each in label_key(key))
    yield from check_label_value(value, f"{path}.value")
    if not effect:
        yield required(f"{path}.effect")
    else:
        yield from check_effect(effect, f"{path}.effect")


def _consumed(consumed: list[Json], path: str) -> Iterator[Any]:
    """Check the counters that a device consumes, each set once."""
    if len(consumed) > _MOST_COUNTERS:
        yield too_many(path, len(consumed), _MOST_COUNTERS)
        return
    for index, each in enumerate(consumed):
        yield from _counters(each, "counterSet", f"{path}[{index}]")
    names = [each.get("counterSet", "") for each in consumed]
    for index in sorted(repeated(names)):
        yield duplicate(f"{path}[{index}]", names[index])


def _counters(counters: Json, member: str, path: str) -> Iterator[Any]:
    name = counters.get(member, "")
    if not name:
        yield required(f"{path}.{member}")
    else:
        yield from check_label(name, f"{path}.{member}")
    known: Mapping[str, Any] = counters.get("counters") or {}
    if not known:
        yield required(f"{path}.counters")
    for key in sorted(known):
        yield from (invalid(f"{path}.counters", key, each) for each in dns_label(key))


def _counter_sets(spec: Json) -> Errors:
    sets = spec.get("sharedCounters") or []
    found = [
        error
        for index, each in enumerate(sets)
        for error in _counters(each, "name", f"spec.sharedCounters[{index}]")
    ]
    names = [each.get("name", "") for each in sets]
    return found + [
        duplicate(f"spec.sharedCounters[{index}]", names[index])
        for index in sorted(repeated(names))
    ]


def _device_nodes(device: Json, path: str, *, per_device: bool) -> Iterator[Any]:
    """Check the nodes of a device, which it states if its slice does not."""
    name, selector, every = (device.get(each) for each in _NODES[:3])
    if not per_device:
        if any(each is not None for each in (name, selector, every)):
            yield invalid(path, None, _NO_DEVICE_NODE)
        return
    if name == "":
        yield invalid(f"{path}.nodeName", name, "must not be empty")
    elif name is not None:
        yield from (invalid(f"{path}.nodeName", name, each) for each in dns_subdomain(name))
    if selector is not None:
        yield from check_node_selector(selector, f"{path}.nodeSelector")
    if every is False:
        yield invalid(f"{path}.allNodes", every, "must be either unset or set to true")
    stated = {"nodeName": name, "nodeSelector": selector is not None, "allNodes": every}
    given = [f"`{each}`" for each, is_set in stated.items() if is_set]
    if not given:
        yield required(path, _ONE_DEVICE_NODE)
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", _ONE_DEVICE_NODE)


def _conditions(device: Json, path: str) -> Iterator[Any]:
    """Check the conditions that a binding waits for, and those that end it."""
    words = ("bindingConditions", "bindingFailureConditions")
    lists = [device.get(word) or [] for word in words]
    for word, names in zip(words, lists, strict=True):
        if len(names) > _MOST_CONDITIONS:
            yield too_many(f"{path}.{word}", len(names), _MOST_CONDITIONS)
            continue
        for index, name in enumerate(names):
            yield from (invalid(f"{path}.{word}[{index}]", name, e) for e in label_key(name))
    for word, names in zip(words, lists, strict=True):
        again = repeated(names)
        for index, name in enumerate(names):
            where = f"{path}.{word}[{index}]"
            if index in again:
                yield duplicate(where, name)
            if word == words[1] and name in lists[0]:
                detail = "bindingFailureConditions must not overlap with bindingConditions"
                yield invalid(where, name, detail)
    for here, there in ((0, 1), (1, 0)):
        if not lists[here] and lists[there]:
            detail = f"{words[here]} are required to use {words[there]}"
            yield invalid(f"{path}.{words[here]}", None, detail)
