"""Tables of Go types, which the programs in ``scripts/kube_schema`` print."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec


@dataclass(frozen=True, slots=True)
class GoTypes:
    """Go types by name."""

    #: Fields of structs as ``(name, name in the API, type)``; an embedded struct may have no name.
    structs: Mapping[str, list[tuple[str, str, str]]]
    #: Types with a name of their own, such as ``v1.PullPolicy``, and the types under them.
    names: Mapping[str, str]


@cache
def go_types(file: str) -> GoTypes:
    """Return the types of a data file."""
    structs: dict[str, list[tuple[str, str, str]]] = {}
    names: dict[str, str] = {}
    data = resources.files("stretto.api.schema").joinpath("data", file).read_bytes()
    for line in data.splitlines():
        word, name, value = msgspec.json.decode(line)
        if word == "struct":
            structs[name] = value
        else:
            names[name] = value
    return GoTypes(structs, names)
