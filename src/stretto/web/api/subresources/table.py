"""The subresources by name."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.web.api.call import Call, write_options
from stretto.web.api.message import Answer
from stretto.web.api.resources import WRITES
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.binding import binding
from stretto.web.api.subresources.eviction import eviction
from stretto.web.api.subresources.kubelet import kubelet
from stretto.web.api.subresources.parts import approval, finalize, part_of_pod
from stretto.web.api.subresources.scale.answers import scale
from stretto.web.api.subresources.status import status
from stretto.web.api.subresources.tokens import token
from stretto.web.api.verbs.reads import check_get

SUBRESOURCES: Final[Mapping[str, Callable[[ApiState, Call], Answer]]] = {
    "status": status,
    "scale": scale,
    "binding": binding,
    "eviction": eviction,
    "finalize": finalize,
    "token": token,
    "approval": approval,
    "ephemeralcontainers": part_of_pod,
    "resize": part_of_pod,
    "log": kubelet,
    "exec": kubelet,
    "attach": kubelet,
    "portforward": kubelet,
    "proxy": kubelet,
}
"""Functions by name."""


def subresource(state: ApiState, call: Call) -> Answer:
    """Answer a call of a subresource.

    Raises:
        ApiError: the request fails.
    """
    name = call.route.subresource
    if call.verb in WRITES:
        call.options = write_options(call.request, call.verb)
    if call.resource.key == ("", "Binding") and not name:
        return binding(state, call)
    handler = SUBRESOURCES[name]
    if call.verb == "get" and handler is not kubelet:
        check_get(state, call)
    return handler(state, call)
