"""Classification of requests: the FlowSchema and the priority level of each, in headers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from stretto.api.wire.kinds import Kind
from stretto.base.limited import LimitedMap
from stretto.web.api.authn.users import User
from stretto.web.api.authz.rules import AccessRequest
from stretto.web.api.flows.matching import matches
from stretto.web.api.flows.objects import CATCH_ALL, GROUP, LEVEL, MANDATORY, SCHEMA, flow_schemas
from stretto.web.api.storage import ObjectStorage

Json = dict[str, Any]

_SCHEMA_UID: Final = "X-Kubernetes-PF-FlowSchema-UID"
_MOST_KNOWN: Final = 4_096
"""Maximum classes of requests that are kept."""
_LONGEST: Final = 1_024
"""Maximum characters of the names in a class that is kept."""
_LONG: Final = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose requests last long, and belong to no flow."""
_PROFILES: Final = "/debug/pprof/"
"""Prefix of paths whose requests last long."""


class _FlowClass(NamedTuple):
    """A schema in the order of matching."""

    #: Precedence; the lowest one that matches counts.
    precedence: int
    #: Name, which orders schemas of equal precedence.
    name: str
    #: The spec.
    spec: Json
    #: Headers of the responses to its requests.
    headers: Mapping[str, str]


class FlowClassifier:
    """The classes of a server's requests; equal requests are classified once."""

    def __init__(self, storage: ObjectStorage) -> None:
        """Follow the schemas and levels of a server."""
        self._storage = storage
        self._classes: list[_FlowClass] = []
        self._counts: Counter[str] = Counter()
        self._known: LimitedMap[tuple[Any, ...], Mapping[str, str]] = LimitedMap(_MOST_KNOWN)
        storage.store.subscribe(self._note)

    def headers(self, user: User, wanted: AccessRequest) -> Mapping[str, str]:
        """Return the headers that name the schema and the level of a request.

        There are none for a request that lasts long, except a watch.

        Args:
            user: the user of the request, after impersonation.
            wanted: the access that the request needs.
        """
        place = wanted.group, wanted.resource, wanted.subresource, wanted.namespace, wanted.path
        key = (user.name, user.groups, wanted.verb, *place)
        found = self._known.get(key)
        if found is not None:
            return found
        found = self._classified(user, wanted)
        if sum(map(len, (user.name, *user.groups, *place))) <= _LONGEST:
            self._known[key] = found
        return found

    def count(self, headers: Mapping[str, str]) -> None:
        """Count an answered request under the schema that its headers name."""
        self._counts[headers[_SCHEMA_UID]] += 1

    def requests(self) -> Mapping[tuple[str, str], int]:
        """Return the number of answered requests by schema and level."""
        return {
            (each.name, _level_of(each.spec)): self._counts[each.headers[_SCHEMA_UID]]
            for each in self._ordered()
        }

    def _note(self, kind: Kind) -> None:
        if kind.group == GROUP:
            self._classes.clear()
            self._known = LimitedMap(_MOST_KNOWN)

    def _classified(self, user: User, wanted: AccessRequest) -> Mapping[str, str]:
        is_long = wanted.subresource in _LONG or wanted.path.startswith(_PROFILES)
        if is_long and wanted.verb != "watch":
            return {}
        return next(
            each.headers
            for each in self._ordered()
            if each.name == CATCH_ALL or matches(each.spec, user, wanted)
        )

    def _ordered(self) -> Sequence[_FlowClass]:
        if not self._classes:
            self._classes = sorted(_classes(self._storage), key=lambda each: each[:2])
        return self._classes


def _classes(storage: ObjectStorage) -> Iterable[_FlowClass]:
    """Yield the schemas whose levels exist, and those that a server always has."""
    levels = {each.name: each.uid for each in storage.listing(LEVEL).records}
    found = {each["metadata"]["name"]: each for each in storage.views_of(SCHEMA)}
    for item in flow_schemas():
        name = item["metadata"]["name"]
        if name in MANDATORY and (
            name not in found or _level_of(found[name]["spec"]) not in levels
        ):
            found[name] = item
    for item in found.values():
        level = _level_of(item["spec"])
        if level in levels or level in MANDATORY:
            yield _class(item, levels.get(level, ""))


def _level_of(spec: Json) -> str:
    return str(spec["priorityLevelConfiguration"]["name"])


def _class(item: Json, level: str) -> _FlowClass:
    metadata, spec = item["metadata"], item["spec"]
    headers = {
        _SCHEMA_UID: metadata.get("uid", ""),
        "X-Kubernetes-PF-PriorityLevel-UID": level,
    }
    return _FlowClass(spec["matchingPrecedence"], metadata["name"], spec, headers)
