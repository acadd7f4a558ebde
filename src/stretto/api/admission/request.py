"""Inputs and outputs of admission: a request, a view of the other objects, a refusal."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.errors import NotAllowedError

JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object."""


class Operation(Enum):
    """The operation of a request."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"


class ObjectView(Protocol):
    """A read-only view of the decoded objects of a cluster; readers must not change them."""

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """Return one object, or ``None``."""
        ...

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """Return the objects of a kind; of all namespaces if ``namespace`` is empty."""
        ...


class AdmissionRequest(msgspec.Struct, frozen=True):
    """An object of an admission request."""

    #: Its kind.
    kind: Kind
    #: The object; admission works on a copy.
    body: JsonObject
    #: Create or update; an update keeps fields that only a create sets.
    operation: Operation = Operation.CREATE
    #: The namespace of the request, for an object without a namespace.
    namespace: str = "default"


class ForbiddenError(NotAllowedError):
    """Admission refuses an object because of other objects.

    The words are those of the API server.
    """

    _verb: ClassVar[str] = "is forbidden"

    def __init__(self, what: str, reason: str = "", hint: str = "", field: str = "") -> None:
        super().__init__(what, reason, hint)
        self.args = (what, reason, hint, field)
        #: Path of the refused field; empty for the whole object.
        self.field = field


class ObjectSet:
    """A view of objects in memory; a later object replaces an earlier one with the same name."""

    def __init__(self, objects: Iterable[tuple[Kind, JsonObject]] = ()) -> None:
        """Create a view of objects."""
        self._objects: dict[Kind, dict[str, dict[str, JsonObject]]] = {}
        for kind, body in objects:
            self.add(kind, body)

    def add(self, kind: Kind, body: JsonObject) -> None:
        """Add or replace an object."""
        meta = body.get("metadata") or {}
        spaces = self._objects.setdefault(kind, {})
        spaces.setdefault(meta.get("namespace") or "", {})[meta.get("name") or ""] = body

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """Return one object, or ``None``."""
        return self._objects.get(kind, {}).get(namespace, {}).get(name)

    def list(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """Return the objects of a kind; of all namespaces if ``namespace`` is empty."""
        spaces = self._objects.get(kind, {})
        chosen = [spaces.get(namespace, {})] if namespace else spaces.values()
        for space in chosen:
            yield from space.values()


def forbidden(request: AdmissionRequest, reason: str, hint: str = "", field: str = "") -> Exception:
    """Return the refusal of a request, in the words of the API server."""
    name = (request.body.get("metadata") or {}).get("name", "")
    return ForbiddenError(f'{request.kind.resource} "{name}"', reason, hint, field)
