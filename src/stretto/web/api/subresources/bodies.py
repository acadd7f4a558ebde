"""Bodies of subresources with the kind of their object."""

from collections.abc import Callable
from typing import Any

from stretto.web.api.call import Call
from stretto.web.api.objects.changes import shape
from stretto.web.api.objects.naming import complete_object, named
from stretto.web.api.patching.configurations import read_config
from stretto.web.api.patching.media import APPLY_PATCH, patch_type
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.apply import applied
from stretto.web.api.verbs.patch import changed_item

Json = dict[str, Any]


def object_body(call: Call) -> Json:
    """Decode the body of a request as an object of the resource, with its defaults.

    Raises:
        ApiError: it is malformed, or contains the name of another object.
    """
    return named(call, complete_object(call))


ObjectChange = Callable[[Json], tuple[Json, bool]]
"""Maps a stored object to the changed one, and whether its field managers are set."""


def requested_change(state: ApiState, call: Call) -> ObjectChange:
    """Return the change of an object by a PUT or a PATCH of its subresource.

    Raises:
        ApiError: the body is malformed.
    """
    if call.verb == "update":
        item = object_body(call)
        return lambda _: (item, False)
    media = patch_type(call)
    if media == APPLY_PATCH:
        kind = call.resource.kind
        return lambda old: (applied(state, call, read_config(call, kind), shape(call, old)), True)
    return lambda old: (changed_item(call, old, media), False)
