"""Creation of an object by the server itself."""

from typing import Any, Final

from stretto.web.api.authn.users import User
from stretto.web.api.call import Call, WriteOptions
from stretto.web.api.message import ApiRequest
from stretto.web.api.objects.naming import default_object
from stretto.web.api.objects.ownership import own_new
from stretto.web.api.routes import Route
from stretto.web.api.state import ApiState
from stretto.web.api.writes import create_object

Json = dict[str, Any]

_SERVER_NAME: Final = "kube-apiserver"
"""Field manager of the server's own writes."""
_SERVER: Final = User("system:apiserver", "", ("system:masters",))
"""The user of the server's own writes."""


def make(
    state: ApiState, served: tuple[str, str, str], item: Json, manager: str = _SERVER_NAME
) -> Json | None:
    """Create an object on behalf of the server; return ``None`` if it exists.

    Args:
        state: the server.
        served: group, version and plural.
        item: the object.
        manager: field manager of its fields.
    """
    call = _creation(state, served, item, manager)
    if call is None:
        return None
    return create_object(state, call, default_object(call, _typed(call, item)))


def make_complete(
    state: ApiState, served: tuple[str, str, str], item: Json, manager: str = _SERVER_NAME
) -> None:
    """Store an object that has its defaults and all that Go encodes, if it does not exist.

    It skips defaults, checks and admission, which would take most of the start-up time.
    """
    call = _creation(state, served, item, manager)
    if call is not None:
        made = _typed(call, item)
        own_new(state, call, made)
        state.storage.create(call.resource, made)


def _creation(
    state: ApiState, served: tuple[str, str, str], item: Json, manager: str
) -> Call | None:
    """Return the server's call that creates an object; ``None`` if it exists or is not served."""
    group, version, plural = served
    resource = state.resources.find(group, version, plural)
    if resource is None:
        return None
    metadata = item["metadata"]
    namespace = metadata.get("namespace", "")
    if state.storage.find(resource.stored, namespace, metadata["name"]) is not None:
        return None
    return Call(
        ApiRequest("POST", ""),
        Route(group, version, plural, namespace),
        resource,
        "create",
        _SERVER,
        WriteOptions(manager=manager),
    )


def _typed(call: Call, item: Json) -> Json:
    kind = call.resource.kind
    return {"kind": kind.kind, "apiVersion": kind.api_version, **item}
