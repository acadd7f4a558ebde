"""PATCH of an object: JSON patch, merge patch, strategic merge patch and server-side apply."""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import shape
from stretto.web.api.objects.reading import check_size, media_type, read_object
from stretto.web.api.patching.patches import patched
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.apply import APPLY, apply
from stretto.web.api.verbs.update import check_name
from stretto.web.api.writes import default_object, update_object

Json = dict[str, Any]

_JSON: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PATCH_OPTIONS: Final = Kind("meta.k8s.io", "v1", "PatchOptions", "")


def patch(state: ApiState, call: Call) -> ApiResponse:
    """Change a part of an object."""
    media = patch_type(call)
    if media == APPLY:
        return apply(state, call)
    resource, route = call.resource, call.route
    old = state.storage.get(resource, route.namespace, route.name)
    item = changed_item(call, old.item, media)
    return answer(state, call, update_object(state, call, old, item))


def patch_type(call: Call) -> str:
    """The media type of a patch.

    Raises:
        ApiError: it is not served, or the options do not fit it.
    """
    check_size(call.request.body)
    media = media_type(call.request.header("content-type"))
    served = [_JSON, _MERGE, *([_STRATEGIC] if call.resource.definition is None else []), APPLY]
    if media not in served:
        text = "the body of the request was in an unknown format - accepted media types include: "
        raise ApiError(415, "UnsupportedMediaType", text + ", ".join(served))
    causes = []
    if media == APPLY and not call.options.manager:
        text = "Required value: is required for apply patch"
        causes.append(("FieldValueRequired", text, "fieldManager"))
    if media != APPLY and call.options.force is not None:
        text = "Forbidden: may not be specified for non-apply patch"
        causes.append(("FieldValueForbidden", text, "force"))
    if causes:
        raise failures.invalid(_PATCH_OPTIONS, "", causes)
    return media


def changed_item(call: Call, old: Json, media: str) -> Json:
    """A stored object with the patch of a request.

    Raises:
        ApiError: the patch does not apply, or the result is no object of the kind.
    """
    before = shape(call, old)
    after = patched(before, call.request.body, media, call.resource.struct)
    try:
        item, warnings = read_object(after, [], call.resource, call.options.validation)
    except ApiError as error:
        raise _unreadable(call, after, error) from error
    call.warnings += warnings
    item.setdefault("metadata", {})
    check_name(item["metadata"].get("name", ""), call.route.name)
    return default_object(call, item)


def _unreadable(call: Call, after: Json, error: ApiError) -> ApiError:
    """422 about a patched object that its kind cannot hold."""
    kind = call.resource.kind
    prefix = " cannot be handled as a "
    if prefix not in error.message:
        return error
    text = error.message.partition(f"{prefix}{kind.kind}: ")[2]
    shown = msgspec.json.encode(after).decode()
    if text.startswith("strict decoding error"):
        cause = ("FieldValueInvalid", f'Invalid value: "": {text}', "patch")
        return failures.invalid(kind, call.route.name, [cause])
    cause = ("FieldValueInvalid", f"Invalid value: {failures_text(shown)}: {text}", "patch")
    return failures.invalid(kind, call.route.name, [cause])


def failures_text(text: str) -> str:
    """A text in quotes."""
    return msgspec.json.encode(text).decode()
