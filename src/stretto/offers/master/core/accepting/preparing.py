"""Preparation of ACCEPT's operations: validation, newest format, allocation."""

from collections.abc import Mapping
from typing import Final

from stretto.offers.master.checks import resources as resource_checks
from stretto.offers.master.core.accepting import launching
from stretto.offers.master.core.accepting.feedback import drop
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.resources import formats
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.offers import Offer
from stretto.offers.messages.schema import Message

RESOURCE_FIELDS: Final[Mapping[str, str]] = {
    "RESERVE": "resources",
    "UNRESERVE": "resources",
    "CREATE": "volumes",
    "DESTROY": "volumes",
}
"""Field with the resources of an operation, by its type."""
LAUNCHES: Final = frozenset({"LAUNCH", "LAUNCH_GROUP"})
"""Operations that start tasks."""


def prepared(
    master: MasterState, framework: Framework, offer: Offer, operation: Message
) -> Message | None:
    """An operation in the newest format, allocated to the role; ``None`` if it is rejected."""
    kind = operation.get("type", "UNKNOWN")
    body = operation.get(kind.lower(), {})
    if kind == "UNKNOWN" or not body:
        return None
    listed = launching.listed_resources(operation) if kind in LAUNCHES else _listed(kind, body)
    error = resource_checks.list_error(listed)
    if not error and "id" in operation and kind in LAUNCHES:
        error = f"The `id` field cannot be set on {kind} operations"
    if not error and kind == "RESERVE" and body.get("source"):
        error = "Reservation updates are not yet implemented for the scheduler API."
    if error and kind in LAUNCHES:
        launching.reject(master, framework, operation, error)
        return None
    if error:
        text = f"Operation attempted with invalid resources: {error}"
        drop(master, framework, operation, text)
        return None
    if kind in LAUNCHES:
        return launching.allocated(operation, framework.id, offer.role)
    return operation | {kind.lower(): _allocated(kind, body, offer.role)}


def _listed(kind: str, body: Message) -> list[Message]:
    field = RESOURCE_FIELDS.get(kind)
    if field is not None:
        return [*body.get(field, ()), *body.get("source", ())]
    return [body[name] for name in ("volume", "addition") if name in body]


def _allocated(kind: str, body: Message, role: str) -> Message:
    """The body with resources in the newest format, allocated to the role."""
    field = RESOURCE_FIELDS.get(kind)
    if field is not None:
        return body | {field: [allocate(each, role) for each in body.get(field, ())]}
    changed = {name: allocate(body[name], role) for name in ("volume", "addition") if name in body}
    return body | changed


def allocate(resource: Message, role: str) -> Message:
    """A resource in the newest format, allocated to a role unless it is allocated already."""
    resource = formats.upgraded(resource)
    return {"allocation_info": {"role": role}} | resource
