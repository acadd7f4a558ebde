"""Metadata of objects: names, namespaces, labels, owners, finalizers, immutable fields."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from stretto.api.checks.fields.errors import (
    Errors,
    first_errors,
    forbidden,
    immutable,
    invalid,
    quoted,
    required,
    too_long,
)
from stretto.api.checks.fields.texts import (
    are_qualified_names,
    check_annotations,
    check_labels,
    dns_label,
    qualified_name,
)

Json = dict[str, Any]

NameRule = Callable[[str], list[str]]
"""Returns the problems of a name."""

_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
PLAIN_FINALIZER: Final = "name is neither a standard finalizer name nor is it fully qualified"
_PREFERRED: Final = (
    "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer "
    "writers"
)
_CONFLICTS: Final = 16
"""Maximum number of errors per object that list all its owners."""
_MANAGER_LIMITS: Final = (("manager", 128), ("subresource", 256))
"""Maximum bytes of the names of a manager."""
_IMMUTABLE: Final = ("name", "namespace", "uid", "creationTimestamp")


def check_metadata(metadata: Json, rule: NameRule, *, namespaced: bool) -> Errors:
    """Check the metadata of a new object."""
    found = check_prefix(metadata, rule)
    name = metadata.get("name", "")
    if not name:
        found.append(required("metadata.name", "name or generateName is required"))
    else:
        found += [invalid("metadata.name", name, each) for each in rule(name)]
    namespace = metadata.get("namespace", "")
    if namespaced:
        if not namespace:
            found.append(required("metadata.namespace"))
        else:
            found += [
                invalid("metadata.namespace", namespace, each) for each in dns_label(namespace)
            ]
    elif namespace:
        found.append(forbidden("metadata.namespace", "not allowed on this type"))
    return found + check_plain_metadata(metadata)


def check_prefix(metadata: Json, rule: NameRule) -> Errors:
    """Check the prefix of a generated name by the rule of names."""
    prefix = metadata.get("generateName", "")
    if not prefix:
        return []
    shown = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
    return [invalid("metadata.generateName", prefix, each) for each in rule(shown)]


def check_plain_metadata(metadata: Json) -> Errors:
    """Check the rules that new and changed objects have in common."""
    found = _check_own_marks(metadata)
    finalizers = metadata.get("finalizers") or []
    if not are_qualified_names(finalizers):
        found += first_errors(
            invalid("metadata.finalizers", each, problem)
            for each in finalizers
            for problem in qualified_name(each)
        )
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        found.append(invalid("metadata.finalizers", finalizers, text))
    return found + _check_managers(metadata.get("managedFields") or ())


def check_marks(metadata: Json) -> Errors:
    """Check generation, labels, annotations, owners and managers."""
    return _check_own_marks(metadata) + _check_managers(metadata.get("managedFields") or ())


def _check_managers(entries: Sequence[Json]) -> Errors:
    """Check the lengths of the names of managers and of their subresources."""
    return [
        too_long(f"metadata.managedFields[{index}].{name}", limit)
        for index, each in enumerate(entries)
        for name, limit in _MANAGER_LIMITS
        if len(each.get(name, "").encode()) > limit
    ]


def _check_own_marks(metadata: Json) -> Errors:
    """Check generation, labels, annotations and owners."""
    found: Errors = []
    generation = metadata.get("generation") or 0
    if generation < 0:
        detail = "must be greater than or equal to 0"
        found.append(invalid("metadata.generation", generation, detail))
    found += check_labels(metadata.get("labels"), "metadata.labels")
    found += check_annotations(metadata.get("annotations"), "metadata.annotations")
    found += _check_owners(metadata.get("ownerReferences") or [])
    return found


def _check_owners(owners: list[Json]) -> Errors:
    found: Errors = []
    controller, conflicts = "", 0
    where = "metadata.ownerReferences"
    for owner in owners:
        version = owner.get("apiVersion", "")
        if not version or not version.rpartition("/")[2]:
            detail = "version must not be empty"
            found.append(invalid(f"{where}.apiVersion", version, detail))
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                found.append(invalid(f"{where}.{name}", "", "must not be empty"))
        if version == "v1" and owner.get("kind") == "Event":
            text = "/v1, Kind=Event is disallowed from being an owner"
            found.append(invalid(where, owner, text))
        if owner.get("controller"):
            if controller and conflicts < _CONFLICTS:
                conflicts += 1
                text = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {owner.get('kind')}/{owner.get('name')}"
                )
                found.append(invalid("metadata.ownerReferences", owners, text))
            controller = f"{owner.get('kind')}/{owner.get('name')}"
    return found


def check_own_finalizers(metadata: Json) -> Errors:
    """Check the finalizers of most kinds of Kubernetes: each has a domain or is a known one."""
    return first_errors(
        invalid(f"metadata.finalizers[{index}]", each, PLAIN_FINALIZER)
        for index, each in enumerate(metadata.get("finalizers") or ())
        if "/" not in each and each not in _STANDARD_FINALIZERS
    )


def plain_finalizer_warnings(metadata: Json, before: Json | None) -> list[str]:
    """Warnings about new finalizers of a custom resource that have no domain."""
    known = {*_STANDARD_FINALIZERS, *((before or {}).get("finalizers") or ())}
    return [
        f"metadata.finalizers: {quoted(each)}: {_PREFERRED}"
        for each in metadata.get("finalizers") or ()
        if "/" not in each and each not in known
    ]


def check_finalizer(name: str, field: str) -> Errors:
    """Check the name of one finalizer: qualified, or known to Kubernetes."""
    found = [invalid(field, name, problem) for problem in qualified_name(name)]
    if not found and "/" not in name and name not in _STANDARD_FINALIZERS:
        found.append(invalid(field, name, PLAIN_FINALIZER))
    return found


def check_changed_metadata(new: Json, old: Json) -> Errors:
    """Check for changes of immutable and read-only fields."""
    found: Errors = []
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        detail = "must not be decremented"
        found.append(invalid("metadata.generation", new.get("generation") or 0, detail))
    for name in _IMMUTABLE:
        value = new.get(name)
        if value != old.get(name):
            found.append(immutable(f"metadata.{name}", value if value is not None else ""))
    if new.get("deletionTimestamp") and not old.get("deletionTimestamp"):
        found.append(immutable("metadata.deletionTimestamp", new["deletionTimestamp"]))
    grace = new.get("deletionGracePeriodSeconds")
    if grace is not None and grace != old.get("deletionGracePeriodSeconds"):
        found.append(immutable("metadata.deletionGracePeriodSeconds", grace))
    if old.get("deletionTimestamp"):
        extra = sorted({*(new.get("finalizers") or ())} - {*(old.get("finalizers") or ())})
        if extra:
            detail = (
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{', '.join(repr_go(each) for each in extra)}}}"
            )
            found.append(forbidden("metadata.finalizers", detail))
    return found


def repr_go(text: str) -> str:
    """Return a text in Go syntax."""
    return f'"{text}"'
