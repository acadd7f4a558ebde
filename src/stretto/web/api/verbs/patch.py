"""PATCH of an object: JSON patch, merge patch, strategic merge patch and server-side apply."""

from dataclasses import replace
from functools import partial
from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import shape
from stretto.web.api.objects.naming import default_object, named
from stretto.web.api.objects.reading import decoded_object
from stretto.web.api.patching.media import APPLY_PATCH, patch_type
from stretto.web.api.patching.patches import patched
from stretto.web.api.patching.results import read_result
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.apply import apply
from stretto.web.api.writes import update_object

Json = dict[str, Any]


def patch(state: ApiState, call: Call) -> ApiResponse:
    """Change a part of an object."""
    media = patch_type(call)
    if media == APPLY_PATCH:
        return apply(state, call)
    resource, route = call.resource, call.route
    old = state.storage.get(resource, route.namespace, route.name)
    item = changed_item(call, old.item, media)
    return answer(state, call, update_object(state, call, old, item))


def changed_item(call: Call, old: Json, media: str) -> Json:
    """Return a stored object with the patch of a request.

    Raises:
        ApiError: the patch does not apply, or the result is not an object of the kind.
    """
    resource = call.resource
    result = patched(call, shape(call, old), media, resource.struct)
    if resource.definition is not None:
        result = replace(result, struct=None)
    call.sent = result.item
    merged = result.is_strategic and resource.definition is None
    read = partial(decoded_object, resource=resource, is_merged=merged)
    item = read_result(call, result, resource.struct, read)
    return default_object(call, named(call, item))
