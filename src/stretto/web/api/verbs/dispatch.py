"""Dispatch of a call to the function of its verb."""

from typing import Final

from stretto.web.api import failures
from stretto.web.api.authz.reviews import is_review, review
from stretto.web.api.call import Call, write_options
from stretto.web.api.crds.endings import is_ending
from stretto.web.api.message import Answer
from stretto.web.api.patching.media import served_media
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.table import subresource
from stretto.web.api.verbs.delete import delete_collection
from stretto.web.api.verbs.reads import READS, read
from stretto.web.api.verbs.table import WRITES

_DEPRECATED: Final = {
    ("", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
    ("", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
}
"""Warnings of deprecated kinds."""


def dispatch(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Answer a call.

    Raises:
        ApiError: the path or the method is not served, or the request fails.
    """
    route, verb = call.route, call.verb
    warning = call.resource.version.get("deprecation")
    if not route.subresource:
        warning = warning or _DEPRECATED.get(call.resource.key)
    if warning:
        call.warnings.append(warning)
    _check_scope(call)
    if call.request.method == "HEAD":
        raise failures.no_method()
    if route.subresource or call.resource.key == ("", "Binding"):
        return subresource(state, call)
    if is_review(call) and verb == "create":
        call.options = write_options(call.request, verb)
        return review(state, call)
    if verb not in call.resource.facts.verbs:
        raise failures.no_method()
    if verb == "create" and route.name:
        raise failures.no_method()
    if verb == "create" and call.resource.definition and is_ending(call.resource.definition):
        raise failures.not_while_ending(call.resource.group, call.resource.resource, verb)
    if verb in READS:
        return read(state, call, snapshots)
    if verb == "deletecollection":
        return delete_collection(state, call, snapshots)
    handler = WRITES.get(verb)
    if handler is None or (verb in ("update", "patch") and not route.name):
        raise failures.no_method()
    if verb == "patch":
        served_media(call)
    if not verb.startswith("delete"):
        call.options = write_options(call.request, verb)
    return handler(state, call)


def _check_scope(call: Call) -> None:
    route, resource = call.route, call.resource
    if route.namespace and not resource.kind.namespaced:
        raise failures.no_route()
    if resource.kind.namespaced and not route.namespace:
        if call.verb == "deletecollection":
            raise failures.no_method()
        if route.name or call.verb == "create":
            raise failures.no_route()
