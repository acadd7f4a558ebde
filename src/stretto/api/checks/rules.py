"""Checks common to the validation of all kinds; errors contain path, value and expectation."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from stretto.api.wire import names, quantity
from stretto.api.wire.meta import LabelSelector, ObjectMeta
from stretto.api.wire.quantity import CPU
from stretto.api.wire.resources import ResourceList
from stretto.api.wire.selectors import label_selector
from stretto.base.errors import InputError

INT32_MAX: Final = 2**31 - 1
"""The largest number in most fields of Kubernetes."""

ANNOTATIONS_BYTES: Final = 256 << 10
"""Limit of Kubernetes on the total bytes of all annotations of an object."""

_WHOLE_UNITS: Final = 10**9
"""Billionths in one unit."""

#: Resources with fractional amounts; amounts of all others are whole numbers.
_DIVISIBLE: Final = ("cpu", "memory", "ephemeral-storage", "storage")


def one_of(value: str | None, choices: Collection[str | None], where: str) -> None:
    """Check that a value is one of the choices."""
    if value not in choices:
        known = ", ".join(choice or "nothing" for choice in choices)
        raise InputError(where, value, f"one of {known}", "the value is case-sensitive")


def within(value: int | None, least: int, most: int, where: str, hint: str = "") -> None:
    """Check a number against inclusive bounds; an absent number passes."""
    if value is not None and not least <= value <= most:
        expected = f"at least {least}" if most >= INT32_MAX else f"{least} to {most}"
        raise InputError(where, value, expected, hint)


def unique(values: Iterable[object], where: str, hint: str) -> None:
    """Check that no value appears twice."""
    seen = set()
    for value in values:
        if value in seen:
            raise InputError(where, value, "each only once", hint)
        seen.add(value)


def metadata(meta: ObjectMeta, where: str, *, namespaced: bool) -> None:
    """Check name, namespace, labels, annotations and owners of any object."""
    path = f"{where}metadata"
    if meta.name or not meta.generate_name:
        names.dns_subdomain(meta.name, f"{path}.name")
    else:
        names.dns_subdomain(meta.generate_name.rstrip("-.") or "-", f"{path}.generateName")
    if not namespaced and meta.namespace:
        hint = "the kind is cluster-scoped: remove the namespace"
        raise InputError(f"{path}.namespace", meta.namespace, "none", hint)
    if meta.namespace:
        names.dns_label(meta.namespace, f"{path}.namespace")
    labels(meta.labels, f"{path}.labels")
    for key in meta.annotations:
        names.label_key(key, f"{path}.annotations")
    size = sum(len(key) + len(text) for key, text in meta.annotations.items())
    if size > ANNOTATIONS_BYTES:
        expected = f"at most {ANNOTATIONS_BYTES} in total"
        raise InputError(f"{path}.annotations", f"{size} characters", expected)
    unique(
        (True for owner in meta.owner_references if owner.controller),
        f"{path}.ownerReferences",
        "at most one owner manages an object: set controller on one",
    )


def labels(texts: Mapping[str, str], where: str) -> None:
    """Check labels, or the labels of a selector."""
    for key, text in texts.items():
        names.label_key(key, where)
        names.label_value(text, f"{where}.{key}")


def selector(struct: LabelSelector | None, where: str) -> None:
    """Check that a label selector compiles; an absent selector passes."""
    label_selector(struct, where)


def resources(amounts: ResourceList, where: str) -> dict[str, int]:
    """Check a resource list: valid names, no negative amounts, whole numbers where required.

    Returns the amounts in the units of ``quantity.amounts``.
    """
    for name, text in amounts.items():
        path = f"{where}.{name}"
        names.label_key(name, where)
        billionths = quantity.nano(text, path)
        if billionths < 0:
            raise InputError(path, text, "an amount of 0 or more", "remove the minus sign")
        if billionths % _WHOLE_UNITS and name not in _DIVISIBLE:
            raise InputError(path, text, f"a whole number: {name} is not divisible")
    return quantity.amounts(amounts, where)


def overcommittable(resource: str) -> bool:
    """Return whether the limit may exceed the request, which only resources of Kubernetes allow."""
    return resource == CPU or resource in _DIVISIBLE
