"""Warnings about ports and files of a pod that overlap one another."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import chain
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.kinds.pods.systems import containers_with_paths

Json = dict[str, Any]

_File = tuple[str, str]
"""Path of a file of a volume and its shown source."""


def port_warnings(spec: Json, path: str) -> Iterator[str]:
    """Yield the warnings about ports of all containers that are equal or overlap."""
    ports = [
        (port, f"{where}.ports[{index}]")
        for container, where in containers_with_paths(spec, path)
        for index, port in enumerate(container.get("ports") or ())
    ]
    if len(ports) < 2:
        return
    taken = defaultdict[tuple[Any, Any], _Definitions](_Definitions)
    for port, where in ports:
        others = taken[port.get("containerPort"), port.get("protocol")]
        for other, place in others.conflicting(port):
            yield f"{where}: {_relation(port, other)} port definition with {place}"
        others.add(port, where)
    names: dict[str, str] = {}
    for port, where in ports:
        name = port.get("name", "")
        if name and name in names:
            first = names[name]
            text = f"duplicate port name {quoted(name)} with {first}"
            yield f"{where}: {text}, services and probes that select ports by name will use {first}"
        elif name:
            names[name] = where


class _Definitions:
    """Definitions of one port of a pod, found by their host ports and addresses.

    The search for the conflicts of a definition takes as long as there are conflicts: a pod may
    define one port thousands of times without any.
    """

    def __init__(self) -> None:
        self._all: list[tuple[Json, str]] = []
        # Indices by host port, and by host port and address.
        self._found: dict[Any, list[int]] = {}

    def add(self, port: Json, where: str) -> None:
        """Add a definition and its path."""
        for key in {_number(port), (_number(port), _address(port))}:
            self._found.setdefault(key, []).append(len(self._all))
        self._all.append((port, where))

    def conflicting(self, port: Json) -> Iterator[tuple[Json, str]]:
        """Yield the definitions with which one conflicts, in their order, with their paths."""
        number, address = _number(port), _address(port)
        if not number:
            yield from self._all
            return
        keys: list[Any] = [0, (number, address), (number, "")] if address else [0, number]
        indices = (self._found.get(key, ()) for key in keys)
        yield from (self._all[index] for index in merge(*indices))


def _number(port: Json) -> int:
    return port.get("hostPort") or 0


def _address(port: Json) -> str:
    return port.get("hostIP") or ""


def _relation(port: Json, other: Json) -> str:
    """Return how two definitions of one port of a pod conflict."""
    if (_number(port), _address(port)) == (_number(other), _address(other)):
        return "duplicate"
    return "dangerously ambiguous" if _number(port) and _number(other) else "overlapping"


def file_warnings(volumes: list[Json]) -> Iterator[str]:
    """Yield the warnings about files of one volume of which one hides another."""
    for volume in volumes:
        name = quoted(volume.get("name", ""))
        for member, key, word in _SOURCES:
            source = volume.get(member)
            if source is not None:
                shown = f"{word} {quoted(source.get(key, ''))}" if key else word
                files = [(each.get("path", ""), "") for each in source.get("items") or ()]
                for text in _overlaps(files):
                    yield f"volume {name} ({shown}): overlapping paths: {text}"
        sources = (volume.get("projected") or {}).get("sources") or ()
        for source in sources:
            if not source:
                yield f"volume {name} (Projected) has no sources provided"
        for text in _overlaps([file for each in sources for file in _projected(each)]):
            yield f"volume {name} (Projected): overlapping paths: {text}"


_SOURCES: Final = (
    ("configMap", "name", "ConfigMap"),
    ("secret", "secretName", "Secret"),
    ("downwardAPI", "", "DownwardAPI"),
)
"""Sources with files: member of the volume, member with the name of the object, shown word."""


def _projected(source: Json) -> Iterator[_File]:
    token = source.get("serviceAccountToken")
    for member, _, word in _SOURCES:
        items = (source.get(member) or {}).get("items")
        if items:
            name = source[member].get("name", "")
            shown = word if member == "downwardAPI" else f"{word} {quoted(name)}"
            yield from ((each.get("path", ""), shown) for each in items)
            return
    if token is not None:
        yield token.get("path", ""), "ServiceAccountToken"


def _overlaps(files: list[_File]) -> Iterator[str]:
    """Yield the pairs of files of which one is the other, or is below the other.

    A file that is listed again is compared with itself and with the files since its last place: its
    other pairs would be the same texts.
    """
    plain = [(path.rstrip("/"), source) for path, source in files]
    tree = _PathTree({path for path, _ in plain if path})
    places: dict[str, list[int]] = {}
    first: dict[_File, int] = {}
    since: dict[_File, list[int]] = {}
    for index, file in enumerate(plain):
        if not file[0]:
            continue
        if file in first:
            others = [first[file], *since.pop(file, ())]
        else:
            related = tree.related(file[0])
            others = sorted(chain.from_iterable(places.get(each, ()) for each in related))
            for other in others:
                since.setdefault(plain[other], []).append(index)
            first[file] = index
            places.setdefault(file[0], []).append(index)
        for other in others:
            yield f"{_shown(*file)} with {_shown(*plain[other])}"


class _PathTree:
    """Paths by the nearest other path that contains them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._above: dict[str, str] = {}
        self._below: dict[str, list[str]] = {}
        open_paths: list[str] = []
        for path in sorted(paths, key="{}/".format):
            while open_paths and not path.startswith(f"{open_paths[-1]}/"):
                open_paths.pop()
            if open_paths:
                self._above[path] = open_paths[-1]
                self._below.setdefault(open_paths[-1], []).append(path)
            open_paths.append(path)

    def related(self, path: str) -> Iterator[str]:
        """Yield a path, those that contain it and those below it."""
        above = self._above.get(path)
        while above is not None:
            yield above
            above = self._above.get(above)
        left = [path]
        while left:
            here = left.pop()
            yield here
            left += self._below.get(here, ())


def _shown(path: str, source: str) -> str:
    return f"{quoted(path)} ({source})" if source else quoted(path)
