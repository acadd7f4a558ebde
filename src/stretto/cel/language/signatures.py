"""Declared functions: exactly those of the base environment of kube-apiserver 1.36.

Each line of the data is a form of a function: ``receiver.name(arguments) -> result  # identifier``.
The order of the forms of a function decides which one applies. A single capital letter is a
parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from stretto.cel.language.types import (
    CelType,
    parameters_in,
    parsed_type,
    split_types,
)

_DATA: Final = "data/functions.txt"
_NAMESPACES: Final = ("cel.", "format.", "ip.", "jsonpatch.", "lists.", "optional.", "sets.")
_QUOTE: Final = "strings.quote"


@dataclass(frozen=True)
class FunctionForm:
    """A form of a function."""

    #: Identifier of the form in cel-go, which the costs refer to.
    id: str
    #: Types of the arguments; the first one is the receiver of a member.
    arguments: tuple[CelType, ...]
    #: Type of the result.
    result: CelType
    #: True if the first argument is a receiver.
    is_member: bool
    #: Names of the parameters in the types.
    parameters: frozenset[str]


@cache
def declared_functions() -> Mapping[str, tuple[FunctionForm, ...]]:
    """Return the forms of all functions by the name of the function."""
    text = resources.files("stretto.cel.language").joinpath(_DATA).read_text()
    found: dict[str, list[FunctionForm]] = {}
    for line in text.splitlines():
        name, form = _form(line)
        found.setdefault(name, []).append(form)
    return {name: tuple(forms) for name, forms in found.items()}


def _form(line: str) -> tuple[str, FunctionForm]:
    signature, _, rest = line.partition(" -> ")
    result, _, identifier = rest.partition("  # ")
    head, arguments = _split_call(signature)
    receiver, name = _receiver(head)
    kinds = tuple(map(parsed_type, [*([receiver] if receiver else []), *split_types(arguments)]))
    outcome = parsed_type(result)
    used = frozenset().union(*map(parameters_in, (*kinds, outcome)))
    return name, FunctionForm(identifier, kinds, outcome, bool(receiver), used)


def _split_call(signature: str) -> tuple[str, str]:
    """Split a signature before its list of arguments."""
    depth = 0
    for index in range(len(signature) - 1, -1, -1):
        depth += (signature[index] == ")") - (signature[index] == "(")
        if depth == 0:
            return signature[:index], signature[index + 1 : -1]
    raise ValueError(signature)


def _receiver(head: str) -> tuple[str, str]:
    """Split a name into the type of the receiver and the name of the function."""
    if head.startswith((*_NAMESPACES, "_")) or head == _QUOTE or "." not in head:
        return "", head
    receiver, _, name = head.rpartition(".")
    return receiver, name
