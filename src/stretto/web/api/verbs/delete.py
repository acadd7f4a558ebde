"""DELETE of one object or of a collection."""

from typing import Any, Final

import msgspec

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.call import Call, integer_parameter, write_options
from stretto.web.api.message import Answer, ApiResponse
from stretto.web.api.objects.changes import RETURNED, shape, shapes
from stretto.web.api.objects.reading import parse_body
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import LIST_FORMS, accept, answer
from stretto.web.api.verbs.lists import page_of
from stretto.web.api.verbs.pages import list_answer
from stretto.web.api.verbs.removal import DeleteOptions, remove, review_removals

Json = dict[str, Any]

_POLICIES: Final = ("Foreground", "Background", "Orphan")
_KEEP_CHILDREN: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


def read_options(call: Call) -> DeleteOptions:
    """The options in the body or in the query.

    Raises:
        ApiError: they are malformed.
    """
    request = call.request
    options = DeleteOptions()
    if request.body:
        value, _ = parse_body(request.body, request.header("content-type"), "")
        try:
            options = msgspec.convert(value, DeleteOptions)
        except msgspec.ValidationError as error:
            raise failures.bad_request(_unread(value) or str(error)) from error
        if options.kind not in ("", "DeleteOptions"):
            raise failures.unregistered(options.kind, options.api_version)
    else:
        seconds = integer_parameter(request, "gracePeriodSeconds")
        if seconds is not None:
            options.grace_period_seconds = seconds
        options.propagation_policy = request.parameter("propagationPolicy") or None
        options.orphan_dependents = request.flag("orphanDependents")
    stated = options.dry_run or [] if request.body else None
    call.options = write_options(request, "delete", stated)
    _check(options)
    return options


def _unread(value: Any) -> str:
    """Why options cannot be read, in the words of Go's decoder; empty if they can."""
    try:
        decode(value, struct("meta/v1.DeleteOptions"), Decoding())
    except DecodeError as error:
        return str(error)
    return ""


def _check(options: DeleteOptions) -> None:
    kind = Kind("meta.k8s.io", "v1", "DeleteOptions", "")
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        text = 'Invalid value: "%s": orphanDependents and deletionPropagation cannot be both set'
        raise failures.invalid(
            kind, "", [("FieldValueInvalid", text % policy, "propagationPolicy")]
        )
    if policy is not None and policy not in _POLICIES:
        shown = ", ".join(f'"{each}"' for each in ("Foreground", "Background", "Orphan", "nil"))
        text = f'Unsupported value: "{policy}": supported values: {shown}'
        raise failures.invalid(kind, "", [("FieldValueNotSupported", text, "propagationPolicy")])


def delete(state: ApiState, call: Call) -> ApiResponse:
    """Delete an object, or mark it until its finalizers and its grace period have ended."""
    options = read_options(call)
    route, resource = call.route, call.resource
    found = state.storage.get(resource, route.namespace, route.name)
    if resource.key == ("batch", "Job") and not (
        options.propagation_policy or options.orphan_dependents is not None
    ):
        call.warnings.append(_KEEP_CHILDREN)
    shape(call, found.item)  # a converter answers before the object is deleted
    last, gone = remove(state, call, found, options)
    if not gone:
        return answer(state, call, shape(call, last), 200)
    if resource.key in RETURNED:
        return answer(state, call, shape(call, last))
    details = failures.details_of(resource.group, resource.resource, route.name)
    details["uid"] = found.record.uid
    status: Json = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return answer(state, call, status)


def delete_collection(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Delete the selected objects, or a page of them; answers with them as a list."""
    options = read_options(call)
    page = page_of(state, call, snapshots)
    accepted = accept(call, LIST_FORMS)
    found = [
        state.storage.find(call.resource.stored, each.namespace, each.name) for each in page.records
    ]
    present = [each for each in found if each is not None]
    if call.resource.conversion is not None:
        shapes(call, [each.item for each in present])
    review_removals(state, call, present)
    for stored in present:
        remove(state, call, stored, options)
    return list_answer(state, call, page, accepted)
