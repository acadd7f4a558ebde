"""Survey of an API server: its health and the kinds that it serves."""

from typing import Final, NamedTuple, TypeVar

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse
from stretto.stores.kube.transport.answers import status_of
from stretto.stores.kube.transport.client import HttpClient

T = TypeVar("T")

_HEALTH: Final = "/healthz"
_INDEX: Final = "/openapi/v3"
"""Index whose text changes whenever a kind is added, changed or removed."""


class ServerSurvey(NamedTuple):
    """Result of one survey."""

    #: HTTP status of the health check.
    status: int
    #: Message of the server; empty if it is healthy.
    message: str = ""
    #: All served kinds; ``None`` if the server did not list them.
    kinds: tuple[Kind, ...] | None = None


class _GroupVersion(msgspec.Struct, rename="camel"):
    """One version of a group."""

    group_version: str


class _ServedGroup(msgspec.Struct):
    """One group."""

    versions: list[_GroupVersion]


class _Groups(msgspec.Struct):
    """``/apis``."""

    groups: list[_ServedGroup]


class _Resource(msgspec.Struct):
    """One resource of a version."""

    name: str
    kind: str
    namespaced: bool


class _Resources(msgspec.Struct):
    """The resources of a version."""

    resources: list[_Resource]


class ServerSurveys:
    """Surveys of one server; kinds are read only after a change."""

    def __init__(self, line: HttpClient) -> None:
        """Use the connections of a client."""
        self._line = line
        self._index = b""
        self._kinds: tuple[Kind, ...] = ()

    async def survey(self) -> ServerSurvey:
        """Make one survey, without retries.

        Raises:
            StrettoError: the server does not answer.
        """
        health = await self._get(_HEALTH)
        if health.status != 200:
            return ServerSurvey(health.status, _said(health))
        index = await self._get(_INDEX)
        known = index.body if index.status == 200 else b""
        if not known or known != self._index:
            kinds = await self._listed()
            if kinds is None:
                return ServerSurvey(health.status)
            self._index, self._kinds = known, kinds
        return ServerSurvey(health.status, "", self._kinds)

    async def _listed(self) -> tuple[Kind, ...] | None:
        """Return all served kinds; ``None`` if a list is missing.

        Lists of a broken extension server are ignored.
        """
        core = await self._read("/api/v1", _Resources)
        groups = await self._read("/apis", _Groups)
        if core is None or groups is None:
            return None
        found = _kinds("v1", core)
        for group in groups.groups:
            for each in group.versions:
                listed = await self._read(f"/apis/{each.group_version}", _Resources)
                if listed is not None:
                    found |= _kinds(each.group_version, listed)
        return tuple(sorted(found, key=lambda each: (each.kind, each.group, each.version)))

    async def _read(self, path: str, struct: type[T]) -> T | None:
        answer = await self._get(path)
        if answer.status != 200:
            return None
        try:
            return msgspec.json.decode(answer.body, type=struct)
        except msgspec.DecodeError:
            return None

    async def _get(self, path: str) -> HttpResponse:
        return await self._line.exchange(HttpRequest("GET", path))


def _kinds(group_version: str, listed: _Resources) -> set[Kind]:
    group, _, version = group_version.rpartition("/")
    return {
        Kind(group, version, each.kind, each.name, namespaced=each.namespaced)
        for each in listed.resources
        if "/" not in each.name
    }


def _said(answer: HttpResponse) -> str:
    """The message of a response whose status is not 200."""
    return f"HTTP {answer.status}: {status_of(answer).message}"
