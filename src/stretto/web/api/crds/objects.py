"""Objects of custom kinds: conversion between body, stored form and served versions."""

from collections.abc import Sequence
from typing import Any, Final

from stretto.api.checks.custom.embedded import check_embedded, read_embedded
from stretto.api.checks.custom.values import check_value
from stretto.api.checks.fields.errors import Errors, FieldError, invalid
from stretto.api.schema.decoding import Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.api.schema.structural import (
    MOST_DEFAULTS,
    drop_nulls,
    prune,
    set_schema_defaults,
)
from stretto.api.wire.values import has_nulls
from stretto.web.api.crds.ratcheting import FormerValues
from stretto.web.api.crds.replicas import check_scale
from stretto.web.api.crds.rules import check_rules
from stretto.web.api.resources import ServedResource
from stretto.web.api.webhooks.reviews import ReviewMemory

Json = dict[str, Any]

_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""Reasons of errors after which rules are not evaluated."""


def read_custom(
    value: Json, resource: ServedResource, *, keeps_nulls: bool = False
) -> tuple[Json, list[str]]:
    """Decode an object from a body: pruned and defaulted; also return the unknown paths.

    Nulls that the schema does not allow are removed, or kept so that validation refuses them.

    Raises:
        DecodeError: its metadata has the wrong type, or it gets too many defaults.
    """
    schema = resource.version["schema"]
    stated = value.get("metadata")
    found = Decoding()
    metadata: Json = {}
    if stated is not None:
        metadata = decode(stated, struct("meta/v1.ObjectMeta"), found)
    item, unknown = prune({**value, "metadata": {}}, schema, top=True)
    item = item if keeps_nulls or not has_nulls(item) else drop_nulls(item, schema)
    embedded = read_embedded(item, schema) if resource.version["has_embedded"] else ()
    item["metadata"] = metadata
    defaults = resource.version["defaults"].get(resource.kind.version)
    set_schema_defaults(item, defaults, MOST_DEFAULTS)
    return item, [*(f"metadata.{path}" for path in found.unknown), *sorted(unknown), *embedded]


def shown_custom(
    items: Sequence[Json], resource: ServedResource, memory: ReviewMemory
) -> list[Json]:
    """Return stored objects in the served version.

    They have the defaults of their storage version, without the fields that the served version
    lacks.

    Args:
        items: the objects.
        resource: the served version.
        memory: the data that their request keeps between its attempts.

    Raises:
        PendingReviewsError: a webhook must convert them, and has not answered yet.
        ApiError: the conversion fails.
    """
    stored = [_with_defaults(each, resource) for each in items]
    return _in_version(stored, resource, resource.kind.version, memory)


def stored_custom(item: Json, resource: ServedResource, memory: ReviewMemory) -> Json:
    """Return an object in the storage version of its definition.

    Raises:
        PendingReviewsError: a webhook must convert it, and has not answered yet.
        ApiError: the conversion fails.
    """
    return _in_version([item], resource, resource.version["storage"], memory)[0]


def _with_defaults(item: Json, resource: ServedResource) -> Json:
    """Return a stored object with the defaults of its storage version."""
    schemas: dict[str, Json] = resource.version["schemas"]
    version = str(item.get("apiVersion", "")).rpartition("/")[2]
    version = version if version in schemas else resource.kind.version
    found = _pruned(item, schemas[version])
    set_schema_defaults(found, resource.version["defaults"].get(version))
    return {**found, "metadata": item["metadata"]}


def _in_version(
    items: Sequence[Json], resource: ServedResource, version: str, memory: ReviewMemory
) -> list[Json]:
    """Return objects in a version, without the fields that it lacks."""
    wanted = f"{resource.group}/{version}"
    schema = resource.version["schemas"][version]
    found = converted_to(items, resource, wanted, memory)
    return [
        {**(after if after is before else _fitted(after, schema)), "apiVersion": wanted}
        for before, after in zip(items, found, strict=True)
    ]


def converted_to(
    items: Sequence[Json], resource: ServedResource, api_version: str, memory: ReviewMemory
) -> list[Json]:
    """Convert objects of a custom kind to a version; objects in this version do not change.

    Raises:
        PendingReviewsError: a webhook must convert them, and has not answered yet.
        ApiError: the conversion fails.
    """
    others = [each for each in items if each.get("apiVersion", api_version) != api_version]
    if resource.conversion is not None and others:
        made = iter(resource.conversion.convert(others, api_version, memory))
    else:
        made = iter([dict(each) for each in others])
    return [
        each if each.get("apiVersion", api_version) == api_version else next(made) for each in items
    ]


def _fitted(item: Json, schema: Json) -> Json:
    """Remove fields that the schema lacks and nulls that it does not allow."""
    return {**drop_nulls(_pruned(item, schema), schema), "metadata": item["metadata"]}


def _pruned(item: Json, schema: Json) -> Json:
    rest = {key: each for key, each in item.items() if key != "metadata"}
    pruned: Json = prune(rest, schema, top=True)[0]
    return pruned


def check_custom(resource: ServedResource, item: Json, old: Json | None, part: str) -> Errors:
    """Return the refused fields of an object, by schema and rules.

    Args:
        resource: its kind and version.
        item: the new or changed object.
        old: the stored object; ``None`` for a new one.
        part: ``status`` for a write of the status, which checks only the status.
    """
    schema = resource.version["schema"]
    kind = item.get("kind")
    if kind != resource.kind.kind:
        return [invalid("kind", kind, f"must be {resource.kind.kind}")]
    if part == "status":
        inner = (schema.get("properties") or {}).get("status") or {}
        found = check_value(item["status"], inner) if "status" in item else []
        errors = [_in_status(each) for each in found]
    else:
        errors = check_value(item, schema)
        if resource.version["has_embedded"]:
            errors += check_embedded(item, schema)
    if resource.version["scale"]:
        errors += check_scale(resource.version["scale"], item, part)
    if old is not None:
        former = FormerValues(item, old, schema)
        errors = [each for each in errors if not former.is_unchanged(each.field)]
    blocked = any(each.reason in _BLOCKING for each in errors)
    if not resource.version["has_rules"]:
        return errors
    return errors + check_rules(schema, item, old, blocked=blocked)


def _in_status(error: FieldError) -> FieldError:
    """Return an error in a status, whose message contains the path below it."""
    field = "status" if error.field in ("", "<nil>") else f"status.{error.field}"
    return FieldError(error.reason, error.message, field)
