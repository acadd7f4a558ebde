"""Rules of Nodes and Namespaces."""

import re
from collections.abc import Sequence
from typing import Final

from stretto.api.checks.fields.addresses import network_problems, subnet_of
from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    quoted,
    repeated,
    required,
)
from stretto.api.checks.fields.metadata import PLAIN_FINALIZER, check_finalizer
from stretto.api.checks.fields.texts import label_key, label_value, qualified_name
from stretto.api.checks.kinds.resources import check_amount
from stretto.api.checks.kinds.values import Json, one_of
from stretto.api.checks.pod import EFFECTS
from stretto.api.wire.names import SUBDOMAIN_CHARS

_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_NO_FEATURE: Final = "invalid feature name {}:"
_TOO_LONG: Final = f"must be no more than {SUBDOMAIN_CHARS} characters"
_FORM: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
    "MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def check_node(item: Json, old: Json | None) -> Errors:
    """Check a Node."""
    spec = item.get("spec") or {}
    found = _taints(spec.get("taints") or ()) + _amounts(item) + _swap(item) + _features(item)
    networks = spec.get("podCIDRs") or ()
    for index, network in enumerate(networks):
        problems = network_problems(network)
        found += [invalid(f"spec.podCIDRs[{index}]", network, each) for each in problems]
    families = {":" in each for each in networks if subnet_of(each)}
    if len(networks) > len(families) > 0:
        detail = "may specify no more than one CIDR for each IP family"
        found.append(invalid("spec.podCIDRs", networks, detail))
    return found if old is None else found + _changes(item, old)


def _changes(item: Json, old: Json) -> Errors:
    """Check a changed Node; kube-apiserver checks its status and its taints once more."""
    spec, before = item.get("spec") or {}, old.get("spec") or {}
    found = check_node_status(item, old)
    for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and before.get(name) != spec.get(name):
            detail = f'node updates may not change {shown} except from "" to valid'
            found.append(forbidden(f"spec.{name}", detail))
    found += _taints(spec.get("taints") or ())
    if spec.get("externalID") != before.get("externalID"):
        found.append(forbidden("spec.externalID", "may not be updated"))
    return found


def _taints(taints: Sequence[Json]) -> Errors:
    found: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        found += [invalid(f"{where}.key", key, each) for each in label_key(key)]
        found += [invalid(f"{where}.value", value, each) for each in label_value(value)]
        stated = f"{where}.effect"
        found += one_of(effect, stated, EFFECTS) if effect else [required(stated)]
        if (key, effect) in seen:
            shown = {
                "Key": key,
                "Value": value,
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            detail = "taints must be unique by key and effect pair"
            found.append(duplicate(where, shown, detail))
        seen.add((key, effect))
    return found


def _amounts(item: Json) -> Errors:
    status = item.get("status") or {}
    return [
        error
        for word in ("capacity", "allocatable")
        for name, amount in sorted((status.get(word) or {}).items())
        for error in check_amount(name, amount, f"status.{word}.{name}")
    ]


def _swap(item: Json) -> Errors:
    swap = ((item.get("status") or {}).get("nodeInfo") or {}).get("swap") or {}
    capacity = swap.get("capacity")
    if capacity is None or capacity > 0:
        return []
    return [invalid("metadata.nodeSwapStatus.capacity", capacity, "must be greater than zero")]


def _features(item: Json) -> Errors:
    """Check the names of the features of a kubelet, which are sorted."""
    found: Errors = []
    names = (item.get("status") or {}).get("declaredFeatures") or ()
    for index, (before, name) in enumerate(zip(("", *names), names, strict=False)):
        where = f"status.declaredFeatures[{index}]"
        if index and name == before:
            found.append(duplicate(where, name))
        elif name < before:
            found.append(invalid(where, name, "list must be sorted alphabetically"))
        if len(name) > SUBDOMAIN_CHARS:
            found.append(invalid(where, name, f"{_NO_FEATURE.format(quoted(name))} {_TOO_LONG}"))
        elif not _FEATURE.fullmatch(name):
            found.append(invalid(where, name, f"{_NO_FEATURE.format(quoted(name))} {_FORM}"))
    return found


def check_node_status(item: Json, _old: Json) -> Errors:
    """Check the status of a Node."""
    addresses = [
        (each.get("type", ""), each.get("address", ""))
        for each in (item.get("status") or {}).get("addresses") or ()
    ]
    twice = [
        duplicate(f"status.addresses[{index}]", {"Type": kind, "Address": address})
        for index in sorted(repeated(addresses))
        for kind, address in [addresses[index]]
    ]
    return _amounts(item) + _features(item) + twice


def check_namespace(item: Json, _old: Json | None) -> Errors:
    """Check the finalizers of a Namespace."""
    found: Errors = []
    for name in (item.get("spec") or {}).get("finalizers") or ():
        found += [invalid("spec.finalizers", name, each) for each in qualified_name(name)]
        if "/" not in name and name != "kubernetes":
            found.append(invalid("spec.finalizers", name, PLAIN_FINALIZER))
    return found


def check_namespace_status(item: Json, _old: Json) -> Errors:
    """Check the status of a Namespace; the phase must match the deletionTimestamp."""
    phase = (item.get("status") or {}).get("phase", "")
    deleted = "deletionTimestamp" in item["metadata"]
    if deleted and phase != "Terminating":
        detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        return [invalid("status.Phase", phase, detail)]
    if not deleted and phase != "Active":
        detail = "may only be 'Active' if `deletionTimestamp` is empty"
        return [invalid("status.Phase", phase, detail)]
    return []


def check_finalize(item: Json, _old: Json) -> Errors:
    """Check a write of the finalizers of a Namespace."""
    return [
        error
        for index, name in enumerate((item.get("spec") or {}).get("finalizers") or ())
        for error in check_finalizer(name, f"spec.finalizers[{index}]")
    ]
