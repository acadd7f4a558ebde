"""Warnings about ports and files of a pod that overlap one another."""

from collections.abc import Iterator
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
    taken: dict[tuple[Any, Any], list[tuple[Json, str]]] = {}
    for port, where in ports:
        others = taken.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for other, place in others:
            relation = _relation(port, other)
            if relation:
                yield f"{where}: {relation} port definition with {place}"
        others.append((port, where))
    names: dict[str, str] = {}
    for port, where in ports:
        name = port.get("name", "")
        if name and name in names:
            first = names[name]
            text = f"duplicate port name {quoted(name)} with {first}"
            yield f"{where}: {text}, services and probes that select ports by name will use {first}"
        elif name:
            names[name] = where


def _relation(port: Json, other: Json) -> str:
    """Return how two definitions of one port of a pod conflict; empty if they do not."""
    addresses = [each.get("hostIP", "") for each in (port, other)]
    numbers = [each.get("hostPort", 0) for each in (port, other)]
    if addresses[0] == addresses[1] and numbers[0] == numbers[1]:
        return "duplicate"
    if not all(numbers):
        return "overlapping"
    is_ambiguous = numbers[0] == numbers[1] and bool(addresses[0]) != bool(addresses[1])
    return "dangerously ambiguous" if is_ambiguous else ""


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
    """Yield the pairs of files of which one is the other, or is below the other."""
    before: list[_File] = []
    for path, source in files:
        plain = path.rstrip("/")
        for other, origin in before if plain else ():
            if other and (_contains(plain, other) or _contains(other, plain)):
                yield f"{_shown(plain, source)} with {_shown(other, origin)}"
        before.append((plain, source))


def _contains(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/")


def _shown(path: str, source: str) -> str:
    return f"{quoted(path)} ({source})" if source else quoted(path)
