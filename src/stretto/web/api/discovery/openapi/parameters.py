"""Parameters of operations, and the common parameters of the operations of a path."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stretto.web.api.discovery.openapi.dialects import SchemaDialect

Json = dict[str, Any]

_NUMBERS: Final = frozenset(
    {"gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines",
     "timeoutSeconds"}
)  # fmt: skip
_FLAGS: Final = frozenset(
    {"allowWatchBookmarks", "follow", "force", "ignoreStoreReadErrorWithClusterBreakingPotential",
     "insecureSkipTLSVerifyBackend", "orphanDependents", "previous", "sendInitialEvents", "stderr",
     "stdin", "stdout", "timestamps", "tty", "watch"}
)  # fmt: skip

LIST: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty",
    "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "shardSelector",
    "timeoutSeconds", "watch",
)  # fmt: skip
"""Parameters of lists and watches."""
WRITE: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty")
"""Parameters of creations and updates."""
DELETE: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents", "pretty", "propagationPolicy",
)  # fmt: skip
"""Parameters of deletions."""
DELETE_MANY: Final = tuple(sorted((set(LIST) | set(DELETE)) - {"allowWatchBookmarks", "watch"}))
"""Parameters of deletions of collections."""

_STREAMS: Final = ("command", "container", "stderr", "stdin", "stdout", "tty")
CONNECT: Final[Mapping[str, Sequence[str]]] = {
    "attach": _STREAMS[1:],
    "exec": _STREAMS,
    "log": (
        "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous",
        "sinceSeconds", "stream", "tailLines", "timestamps",
    ),
    "portforward": ("ports",),
    "proxy": ("path",),
}  # fmt: skip
"""Parameters of subresources that are not objects."""


def parameter(name: str, place: str, dialect: SchemaDialect) -> Json:
    """Return a parameter of the query or of the path."""
    kind = "integer" if name in _NUMBERS else "boolean" if name in _FLAGS else "string"
    schema = {"type": kind, "uniqueItems": True}
    found: Json = {"name": name, "in": place}
    if place == "path":
        found["required"] = True
    return {**found, "schema": schema} if dialect is SchemaDialect.V3 else {**found, **schema}


def shared(queries: Sequence[Sequence[str]]) -> set[str]:
    """Return the query parameters that all operations of a path have."""
    return set.intersection(*(set(each) for each in queries))
