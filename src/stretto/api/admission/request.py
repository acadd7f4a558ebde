"""What admission reads and answers: a request, a view of the other objects, a refusal."""

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
    """A read-only view of the objects of a cluster, decoded; readers must not change them."""

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """One object, or ``None``."""
        ...

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """The objects of a kind; of one namespace unless it is empty."""
        ...


class AdmissionRequest(msgspec.Struct, frozen=True):
    """An object of an admission request."""

    #: Its kind.
    kind: Kind
    #: The object; admission works on a copy.
    body: JsonObject
    #: Create or update; an update keeps fields that only a create fills in.
    operation: Operation = Operation.CREATE
    #: The namespace of the request, for an object that names none.
    namespace: str = "default"


class ForbiddenError(NotAllowedError):
    """Admission refuses an object because of other objects; worded as the API server does."""

    _verb: ClassVar[str] = "is forbidden"

    def __init__(self, what: str, reason: str = "", hint: str = "", field: str = "") -> None:
        super().__init__(what, reason, hint)
        self.args = (what, reason, hint, field)
        #: Path of the refused field; empty for the whole object.
        self.field = field


class ObjectSet:
    """Objects in memory, as a view; later objects of the same name replace earlier ones."""

    def __init__(self, objects: Iterable[tuple[Kind, JsonObject]] = ()) -> None:
        """A view of some objects."""
        self._objects: dict[Kind, dict[tuple[str, str], JsonObject]] = {}
        for kind, body in objects:
            self.add(kind, body)

    def add(self, kind: Kind, body: JsonObject) -> None:
        """Add or replace an object."""
        meta = body.get("metadata") or {}
        key = (meta.get("namespace") or "", meta.get("name") or "")
        self._objects.setdefault(kind, {})[key] = body

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """One object, or ``None``."""
        return self._objects.get(kind, {}).get((namespace, name))

    def list(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        """The objects of a kind; of one namespace unless it is empty."""
        for (space, _), body in self._objects.get(kind, {}).items():
            if namespace in ("", space):
                yield body


def forbidden(request: AdmissionRequest, reason: str, hint: str = "", field: str = "") -> Exception:
    """The refusal of a request, in the words of the API server."""
    name = (request.body.get("metadata") or {}).get("name", "")
    return ForbiddenError(f'{request.kind.resource} "{name}"', reason, hint, field)
