"""Paths of the API: resource, object and subresource of a request."""

from typing import Final

import msgspec

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_NAMESPACED_ROOT: Final = frozenset({"status", "finalize"})
"""Subresources of namespaces: ``/api/v1/namespaces/NAME/status`` contains no kind."""


class Route(msgspec.Struct, frozen=True):
    """The parts of a path below ``/api/v1`` or ``/apis/GROUP/VERSION``."""

    #: API group; empty for core.
    group: str
    #: Version.
    version: str
    #: Resource in the plural; empty for the list of resources.
    resource: str = ""
    #: Namespace; empty for none or all.
    namespace: str = ""
    #: Name of an object; empty for a collection.
    name: str = ""
    #: Subresource; empty for the object itself.
    subresource: str = ""
    #: The path after the subresource, for example the path of a proxied request.
    rest: str = ""
    #: True if the path has the old form ``/watch/``.
    watches: bool = False


def parse_route(path: str) -> Route | None:
    """Parse a path; ``None`` for a path outside the API of resources."""
    if "//" in path:
        return None
    parts = path.strip("/").split("/")
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watches = bool(rest) and rest[0] == "watch"
    if watches:
        rest = rest[1:]
    if not rest:
        return Route(group, version, watches=watches)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACED_ROOT:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource, *more = (*rest, "", "")[: max(3, len(rest))]
    return Route(group, version, resource, namespace, name, subresource, "/".join(more), watches)


def verb_of(method: str, route: Route, *, watches: bool) -> str:
    """Return the verb of a request, as in RBAC rules; empty for another method."""
    if method in ("GET", "HEAD"):
        if route.watches or (watches and not route.name):
            return "watch"
        return "get" if route.name else "list"
    if method == "DELETE":
        return "delete" if route.name else "deletecollection"
    return _VERBS.get(method, "")
