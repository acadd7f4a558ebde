"""Paths and queries of objects on an API server."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import Kind


def collection_path(kind: Kind, namespace: str = "") -> str:
    """The path of all objects of a kind, in one namespace or in all namespaces."""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    return f"{root}{inside}/{kind.plural}"


def object_path(kind: Kind, namespace: str, name: str, sub: str = "") -> str:
    """The path of one object, or of one of its subresources."""
    path = f"{collection_path(kind, namespace)}/{quote(name, safe='')}"
    return f"{path}/{sub}" if sub else path


def status_path(kind: Kind, namespace: str, name: str) -> str:
    """The path of status writes of an object.

    A kind without the subresource (the PodGroup of Volcano) has its status in the object itself.
    """
    has_status = "status" in entry_of(kind).subresources
    return object_path(kind, namespace, name, "status" if has_status else "")


def with_query(path: str, query: Mapping[str, str]) -> str:
    """A path with its query."""
    return f"{path}?{urlencode(query)}" if query else path


def place(namespace: str, name: str) -> str:
    """Namespace and name of an object, for messages."""
    return f"{namespace}/{name}" if namespace else name
