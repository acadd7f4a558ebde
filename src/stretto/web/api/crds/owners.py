"""Conversion of custom objects to the versions in which managers own their fields."""

from collections.abc import Sequence
from typing import Any

from stretto.api.edit.apply.managers import VersionError
from stretto.api.edit.apply.pruning import InVersion
from stretto.api.edit.apply.walking import ApplyError, check_typed, struct_value
from stretto.api.schema.structural import struct_of_schema
from stretto.api.schema.types import ValueType
from stretto.web.api.crds.objects import converted_to
from stretto.web.api.resources import ServedResource
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory

Json = dict[str, Any]


def versions_of(resource: ServedResource, memory: ReviewMemory) -> InVersion | None:
    """Return a converter of a custom kind's objects; ``None`` for a kind of Kubernetes.

    Args:
        resource: the version of the request.
        memory: the data that the request keeps between its attempts.
    """
    if resource.definition is None:
        return None
    schemas: dict[str, Json] = resource.version["schemas"]
    # By identity and struct; the objects are kept, so that their identities stay unique.
    checked: dict[tuple[int, int], tuple[Json, ValueType]] = {}

    def in_version(
        items: Sequence[Json], api_version: str
    ) -> tuple[Sequence[Json], ValueType] | None:
        group, _, version = api_version.rpartition("/")
        schema = schemas.get(version) if group == resource.group else None
        if schema is None:
            return None
        found = _each_converted(items, resource, api_version, memory)
        kind = struct_value(struct_of_schema(schema))
        try:
            # Without a webhook, a conversion changes only the version of an object.
            for each in found if resource.conversion is not None else items:
                if (id(each), id(kind)) not in checked:
                    check_typed(each, kind)
                    checked[id(each), id(kind)] = each, kind
        except ApplyError as error:
            raise VersionError(str(error)) from error
        return found, kind

    return in_version


def _each_converted(
    items: Sequence[Json], resource: ServedResource, api_version: str, memory: ReviewMemory
) -> list[Json]:
    """Convert the states of one object to a version, each in a separate review."""
    found: list[Json] = []
    pending: list[ReviewCall] = []
    for each in items:
        try:
            found += converted_to([each], resource, api_version, memory)
        except PendingReviewsError as error:
            pending += error.calls
    if pending:
        raise PendingReviewsError(pending)
    return found
