"""Paths and methods that are served, and the warnings about deprecated kinds.

kube-apiserver has a route for every path and method of a built-in kind. One handler serves all
custom kinds: it accepts other paths, and its refusals have other forms.
"""

from functools import lru_cache
from typing import Final

from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.crds.endings import is_ending
from stretto.web.api.discovery.health import no_page
from stretto.web.api.resources import ServedResource

_DEPRECATED: Final = {
    ("", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
    ("", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
}
"""Warnings of deprecated kinds."""
_OF_OBJECTS: Final = frozenset({"get", "watch", "update", "patch", "delete"})
"""Verbs whose paths contain the name of an object."""
_OF_PARTS: Final = frozenset({"get", "update", "patch"})
"""Verbs of the subresources of custom kinds."""
_OF_ALL_NAMESPACES: Final = frozenset({"list", "watch"})
_NAMED: Final = frozenset({"update", "patch"})


def check_method(call: Call) -> None:
    """Refuse a path or a method that is not served; warn of a deprecated kind.

    Raises:
        ApiError: the path or the method is not served.
        PlainError: the path is not served.
    """
    if call.resource.definition is None:
        _check_built_in(call)
    else:
        _check_custom(call)


def _check_built_in(call: Call) -> None:
    route, resource = call.route, call.resource
    if route.subresource and resource.subresource(route.subresource) is None:
        raise failures.no_route()
    place = bool(route.namespace), bool(route.name), bool(route.rest)
    verbs = _verbs_at(resource, route.subresource, place)
    if verbs is None:
        raise failures.no_route()
    if call.verb not in verbs or call.request.method == "HEAD":
        raise failures.no_method()
    if not route.subresource and resource.key in _DEPRECATED:
        call.warnings.append(_DEPRECATED[resource.key])


@lru_cache(maxsize=4096)
def _verbs_at(
    resource: ServedResource, part: str, place: tuple[bool, bool, bool]
) -> frozenset[str] | None:
    """Return the verbs of a path of a built-in kind; ``None`` if the path does not exist.

    Args:
        resource: the resource.
        part: the subresource, which is served; empty for none.
        place: whether the path contains a namespace, a name, and more after the subresource.
    """
    has_namespace, has_name, has_rest = place
    verbs = frozenset(resource.facts.verbs)
    if part:
        exists = not has_rest or part == "proxy"
        verbs = frozenset(resource.facts.subresources[part].verbs)
    elif has_name:
        exists = bool(verbs & _OF_OBJECTS)
        verbs &= _OF_OBJECTS
    elif resource.kind.namespaced and not has_namespace:
        exists = "list" in verbs
        verbs &= _OF_ALL_NAMESPACES
    else:
        exists = True
        verbs -= _NAMED
    is_placed = has_namespace is resource.kind.namespaced
    return verbs if exists and (is_placed or not (has_namespace or has_name)) else None


def _check_custom(call: Call) -> None:
    route, resource, verb = call.route, call.resource, call.verb
    is_placed = bool(route.namespace) is resource.kind.namespaced
    if not is_placed and (route.namespace or verb not in _OF_ALL_NAMESPACES):
        raise no_page()
    warning = resource.version.get("deprecation")
    if warning:
        call.warnings.append(warning)
    if route.subresource and resource.subresource(route.subresource) is None:
        raise failures.not_found(resource.group, resource.resource, route.name)
    if verb not in (_OF_PARTS if route.subresource else resource.facts.verbs):
        raise failures.not_supported(resource.group, resource.resource, verb)
    if verb == "create" and is_ending(resource.definition):
        raise failures.not_while_ending(resource.group, resource.resource, verb)
    if verb in _NAMED and not route.name:
        raise failures.bad_request("name must be provided")
