"""Conversion of a written object to the version of its kind that a rule matched."""

from typing import Any

from stretto.api.wire.kinds import Kind
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.objects.versions import shown_form, stored_form
from stretto.web.api.resources import ServedResource
from stretto.web.api.state import ApiState
from stretto.web.api.webhooks.reviews import ReviewMemory

Json = dict[str, Any]


def in_version(
    state: ApiState, attributes: WriteAttributes, item: Json | None, kind: Kind
) -> Json | None:
    """Return a reviewed object in the version of a matched resource."""
    resource = attributes.admission.resource
    other = state.resources.find(kind.group, kind.version, kind.plural)
    if item is None or other is None or attributes.admission.shown is not None:
        return item
    return converted(item, resource, other, attributes.admission.call.request.memory)


def converted(
    item: Json, resource: ServedResource, other: ServedResource, memory: ReviewMemory
) -> Json:
    """Convert an object of one version of a resource to another version."""
    if resource.kind == other.kind:
        return item
    stored = item if resource.definition is not None else stored_form(resource, item)
    return shown_form(other, {**stored, "metadata": item["metadata"]}, memory)
