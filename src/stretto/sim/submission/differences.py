"""Differences between a submission and the objects of a state, object by object.

Fields that a submission does not set keep their value, as with ``kubectl apply``; fields that an
API server never sets by itself count as removed. Pods of a controller are compared as a group: the
number of pods may change, and a changed template replaces all of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from stretto.api.wire.quantity import amount
from stretto.base.errors import InputError

_META: Final = frozenset({"labels", "annotations"})
"""Metadata that a submission sets; everything else identifies the object."""
_HASHES: Final = frozenset({"pod-template-hash", "controller-revision-hash"})
"""Labels with the hash of a template, which are ignored.

The template itself is compared, and hashes of equal templates differ between a real controller and
the pods made here.
"""
_REMOVABLE: Final = frozenset(
    {
        "affinity",
        "nodeSelector",
        "schedulingGates",
        "topologySpreadConstraints",
        "taints",
        "unschedulable",
    }
)
"""Fields that no server adds; an object that has one differs from a submission without it."""
_OWN_SCHEDULERS: Final = frozenset({"", "default-scheduler"})
LONGEST: Final = 60
"""Maximum length of a value in a difference, in characters."""


class FieldChange(msgspec.Struct, frozen=True):
    """One changed field."""

    #: Path of the field.
    path: str
    #: The current value as text; empty if it is not set.
    before: str
    #: The submitted value as text; empty if it is removed.
    after: str

    @property
    def text(self) -> str:
        """The change as text: ``spec.priority: 5 → 9``."""
        return f"{self.path}: {self.before or 'not set'} → {self.after or 'not set'}"


def field_changes(
    current: Mapping[str, Any], submitted: Mapping[str, Any], *, status: bool = False
) -> list[FieldChange]:
    """The fields of an object that a submission changes.

    Args:
        current: the existing object.
        submitted: the submitted object.
        status: true if the submission sets the status, such as the capacity of a node.
    """
    found: list[FieldChange] = []
    for key in ("metadata", *sorted((submitted.keys() | current.keys()) - {"metadata"})):
        if key in ("apiVersion", "kind") or (key == "status" and not status):
            continue
        before, after = current.get(key), submitted.get(key)
        if key == "metadata":
            before, after = _chosen(before or {}), _chosen(after or {})
        found += _changes(key, before, after)
    return found


def _chosen(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that a submission sets, without labels that follow from it."""
    found = {key: value for key, value in meta.items() if key in _META}
    if isinstance(labels := found.get("labels"), Mapping):
        found["labels"] = {key: value for key, value in labels.items() if key not in _HASHES}
    return found


def _changes(path: str, before: Any, after: Any) -> Iterator[FieldChange]:
    """Differences of two values, the innermost fields first."""
    if after is None or _is_equal(path, before, after):
        return
    if isinstance(after, Mapping) and isinstance(before, Mapping | None):
        yield from _of_mappings(path, before or {}, after)
    elif _are_lists_of_objects(before, after):
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from _changes(f"{path}[{number}]", old, new)
        if len(before) < len(after) or path.rpartition(".")[2] in _REMOVABLE | {"containers"}:
            for number in range(len(before), len(after)):
                yield FieldChange(f"{path}[{number}]", "", _text(after[number]))
            for number in range(len(after), len(before)):
                yield FieldChange(f"{path}[{number}]", _text(before[number]), "")
    else:
        yield FieldChange(path, _text(before), _text(after))


def _of_mappings(
    path: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[FieldChange]:
    if path.endswith(".resources"):
        # A limit without a request is a request of the same amount.
        before, after = _with_requests(before), _with_requests(after)
    for key in sorted(after):
        if key == "schedulerName" and before.get(key) in _OWN_SCHEDULERS:
            continue  # the planning scheduler has replaced the scheduler name of the submission
        yield from _changes(f"{path}.{key}", before.get(key), after[key])
    exact = path.endswith((".requests", ".limits", ".nodeSelector"))
    for key in sorted(before.keys() - after.keys()):
        if (key in _REMOVABLE or exact) and before[key]:
            yield FieldChange(f"{path}.{key}", _text(before[key]), "")


def _with_requests(resources: Mapping[str, Any]) -> dict[str, Any]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    return {**resources, "requests": {**limits, **requests}, "limits": limits}


def _are_lists_of_objects(before: Any, after: Any) -> bool:
    return (
        isinstance(before, list)
        and isinstance(after, list)
        and all(isinstance(each, Mapping) for each in (*before, *after))
    )


def _is_equal(path: str, before: Any, after: Any) -> bool:
    """True if two values are equivalent; amounts are equal in any notation."""
    if before == after or (not before and not after and before != 0 and after != 0):
        return True
    parent, _, name = path.rpartition(".")
    if parent.endswith((".requests", ".limits", "capacity", "allocatable", "guarantee", ".limit")):
        try:
            return amount(name, before, path) == amount(name, after, path)
        except (InputError, TypeError, ValueError):
            return False
    return False


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
