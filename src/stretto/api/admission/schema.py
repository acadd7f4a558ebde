"""The fields of every built-in kind of Kubernetes, to refuse misspelled fields.

``data/kubernetes.json`` contains the fields and types of Kubernetes 1.36 at every level.
``scripts/make_api_fields.py`` generates it from the OpenAPI document. The kinds of Stretto's own
CRDs are checked against their structs.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import Kind
from stretto.api.wire.meta import Wire
from stretto.api.wire.refusals import QUOTE
from stretto.base.errors import InputError, quoted
from stretto.base.nearest import nearest

FIELDS_FILE: Final = "data/kubernetes.json"
"""Path of the data file in the package."""
_PRIMITIVES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "quantity": (str, int, float),
    "int-or-string": (str, int),
}
"""Python types of the values of a primitive type."""
_WORDS: Final = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "quantity": "a quantity such as 500m or 2",
    "int-or-string": "an integer or a text",
}


class _KubernetesFields(msgspec.Struct, frozen=True):
    """The content of the data file."""

    #: Type name of a kind, by ``apiVersion`` and kind.
    kinds: dict[str, str]
    #: Type of each field, by type name.
    types: dict[str, dict[str, str]]


class UnknownField(NamedTuple):
    """A field that a kind does not have."""

    #: Its path.
    path: str
    #: The nearest known field; empty if none is near.
    nearest: str
    #: The known fields at this level.
    known: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The finding as a sentence, in the words of the API server."""
        name = self.path.rpartition(".")[2]
        if self.nearest:
            return f"unknown field {quoted(name)}; did you mean {quoted(self.nearest)}?"
        return f"unknown field {quoted(name)}; known: {', '.join(self.known)}"


class UnknownFieldError(InputError):
    """A kind does not have this field; the message suggests the nearest field."""

    def __init__(self, where: str, found: UnknownField) -> None:
        super().__init__(where, found.path, "a field of the kind")
        self.args = (where, found)
        #: The finding.
        self.found = found

    def __str__(self) -> str:
        return f"{self.where}: {self.found.sentence}"


Report = Callable[[UnknownField], None]
"""Receives the unknown fields."""


def check_fields(kind: Kind, body: Mapping[str, Any], where: str, report: Report | None) -> None:
    """Check the fields of a whole object at every level.

    Args:
        kind: its kind; an object of a kind without known fields passes.
        body: the object.
        where: its name in messages.
        report: receives unknown fields; if ``None``, the first one is refused.

    Raises:
        InputError: a field is unknown, or a value has the wrong type.
    """
    name = _fields().kinds.get(f"{kind.api_version} {kind.kind}")
    if name is None:
        struct = entry_of(kind).struct
        if struct is None:
            return
        _check_ours(struct, body, where, report)
    else:
        check_type(name, body, where, report)


def check_type(
    name: str, value: Any, where: str, report: Report | None = None, path: str = ""
) -> None:
    """Check a value of a named type, such as ``PodTemplateSpec``, as ``check_fields`` does."""
    for unknown in _unknown(f"#{name}", value, path, where):
        _refuse_or_report(unknown, where, report)


def unknown_path(kind: Kind, path: str) -> UnknownField | None:
    """Return the first unknown step of a dotted path.

    ``None`` if all steps are known, or the fields of the kind are not known.
    """
    known = _fields()
    type_, done = f"#{known.kinds.get(f'{kind.api_version} {kind.kind}', '')}", ""
    for step in path.split("."):
        if type_.startswith("{}"):
            type_ = type_[2:]
            continue
        fields = known.types.get(type_.removeprefix("#"))
        if fields is None:
            return _named(path, step, ()) if type_ in _PRIMITIVES else None
        done = f"{done}.{step}" if done else step
        if step not in fields:
            return _named(done, step, tuple(fields))
        type_ = fields[step]
    return None


def _refuse_or_report(unknown: UnknownField, where: str, report: Report | None) -> None:
    """Report an unknown field, or refuse it."""
    if report is None:
        raise UnknownFieldError(f"{where}: {unknown.path}", unknown)
    report(unknown)


@cache
def _fields() -> _KubernetesFields:
    """Return the data file, read once."""
    text = files("stretto.api.admission").joinpath(FIELDS_FILE).read_bytes()
    return msgspec.json.decode(text, type=_KubernetesFields)


def _unknown(type_: str, value: Any, path: str, where: str) -> Iterator[UnknownField]:
    """Yield unknown fields anywhere in a value; refuse a value of the wrong type."""
    if value is None or type_ == "any":
        return
    if type_.startswith("[]"):
        if not isinstance(value, list):
            raise InputError(f"{where}: {path}", value, "a list", "begin each item with a dash")
        for index, item in enumerate(value):
            yield from _unknown(type_[2:], item, f"{path}[{index}]", where)
    elif type_.startswith("{}"):
        if not isinstance(value, dict):
            raise InputError(f"{where}: {path}", value, "a mapping of names to values")
        for key, item in value.items():
            yield from _unknown(type_[2:], item, f"{path}.{key}", where)
    elif type_.startswith("#"):
        yield from _unknown_members(_fields().types[type_[1:]], value, path, where)
    elif type_ in _PRIMITIVES:
        _check_primitive(type_, value, path, where)


def _unknown_members(
    fields: Mapping[str, str], value: Any, path: str, where: str
) -> Iterator[UnknownField]:
    """Yield unknown fields of an object, at any depth."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: {path}", value, f"an object with {', '.join(fields)}")
    for key, item in value.items():
        below = f"{path}.{key}" if path else str(key)
        if key in fields:
            yield from _unknown(fields[key], item, below, where)
        else:
            yield _named(below, str(key), tuple(fields))


def _check_primitive(type_: str, value: Any, path: str, where: str) -> None:
    """Refuse a value of the wrong type: YAML converts bare words to numbers and booleans."""
    good = isinstance(value, _PRIMITIVES[type_])
    if isinstance(value, bool):
        good = type_ == "boolean"
    elif type_ == "integer" and isinstance(value, float):
        good = value.is_integer()
    if not good:
        hint = QUOTE if isinstance(value, bool) and type_ == "string" else ""
        raise InputError(f"{where}: {path}", value, _WORDS[type_], hint)


def _named(path: str, key: str, known: tuple[str, ...]) -> UnknownField:
    """Return an unknown field with the nearest known one; case is ignored."""
    return UnknownField(path, next(iter(nearest(key, known, 1)), ""), known)


def _check_ours(
    struct: type[Wire], body: Mapping[str, Any], where: str, report: Report | None
) -> None:
    """Check metadata and spec of an object of Stretto's CRDs against its struct."""
    known = (*struct.__struct_encode_fields__, "apiVersion", "kind")
    hints = get_type_hints(struct)
    for key, value in body.items():
        if key not in known:
            _refuse_or_report(_named(key, key, known), where, report)
        elif key == "metadata":
            check_type("ObjectMeta", value, where, report, key)
        elif key == "spec":
            for unknown in unknown_fields(hints[key], value, key):
                _refuse_or_report(unknown, where, report)


def unknown_fields(annotation: Any, value: Any, path: str) -> Iterator[UnknownField]:
    """Yield unknown fields of a value with a known Python type; the codec checks the types.

    Args:
        annotation: the type: a struct, or tuples and unions of structs.
        value: the value as JSON.
        path: its path in the findings.
    """
    if get_origin(annotation) in (Union, types.UnionType):
        for option in get_args(annotation):
            yield from unknown_fields(option, value, path)
    elif get_origin(annotation) in (tuple, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_fields(get_args(annotation)[0], item, f"{path}[{index}]")
    elif (
        isinstance(annotation, type)
        and issubclass(annotation, msgspec.Struct)
        and isinstance(value, dict)
    ):
        known = annotation.__struct_encode_fields__
        inner = dict(zip(known, annotation.__struct_fields__, strict=True))
        hints = get_type_hints(annotation)
        for key, item in value.items():
            below = f"{path}.{key}"
            if key in inner:
                yield from unknown_fields(hints[inner[key]], item, below)
            else:
                yield _named(below, str(key), known)
