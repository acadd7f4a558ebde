"""Go's text of a pod template: the fields in the order of the Go types, each with its type.

Kubernetes' controllers hash the text that ``k8s.io/utils/dump.ForHash`` makes of a decoded
template (go-spew, ``%#v`` with sorted keys and without addresses). The data file contains the
types; ``scripts/kube_schema/structs`` derives it from the Go types.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.schema.hashes.quantity import dumped_quantity
from stretto.api.schema.reflected import GoTypes, go_types

_TEMPLATE: Final = "v1.PodTemplateSpec"
_NIL: Final = "<nil>"
_ZERO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def _types() -> GoTypes:
    return go_types("pod_template.jsonl")


def dumped_template(template: Mapping[str, Any]) -> str:
    """The text of a pod template with its defaults, as a controller reads it from the API."""
    return _dumped(_TEMPLATE, template)


def _dumped(type_: str, value: Any, *, shows_type: bool = True) -> str:
    """The text of a value; items of lists and maps are shown without their type."""
    shown = f"({type_})" if shows_type else ""
    if not type_.startswith("*"):
        return shown + _content(type_, value)
    return shown + (_NIL if value is None else _content(type_[1:], value))


def _content(type_: str, value: Any) -> str:
    plain = _types().names.get(type_, type_)
    if plain in _SPECIAL:
        return _SPECIAL[plain](value)
    if plain.startswith("[]"):
        return _list(plain[2:], value)
    if plain.startswith("map["):
        return _map(plain.partition("]")[2], value)
    return _struct(plain, value or {})


def _list(item: str, value: Any) -> str:
    """An empty list is nil, because messages in protobuf do not distinguish them."""
    if not value:
        return _NIL
    return f"[{' '.join(_dumped(item, each, shows_type=False) for each in value)}]"


def _map(item: str, value: Any) -> str:
    if not value:
        return _NIL
    members = (f"{key}:{_dumped(item, value[key], shows_type=False)}" for key in sorted(value))
    return f"map[{' '.join(members)}]"


def _struct(type_: str, value: Mapping[str, Any]) -> str:
    fields = (
        f"{name}:{_dumped(inner, value.get(tag) if tag else value)}"
        for name, tag, inner in _types().structs[type_]
    )
    return f"{{{' '.join(fields)}}}"


def _int_or_string(value: Any) -> str:
    is_text = isinstance(value, str)
    number, text = (0, value) if is_text else (value or 0, "")
    return f"{{Type:(intstr.Type){int(is_text)} IntVal:(int32){number} StrVal:(string){text}}}"


def _number(value: Any) -> str:
    return str(int(value or 0))


_SPECIAL: Final[Mapping[str, Callable[[Any], str]]] = {
    "string": lambda value: value or "",
    "bool": lambda value: "true" if value else "false",
    "int32": _number,
    "int64": _number,
    "intstr.IntOrString": _int_or_string,
    "resource.Quantity": dumped_quantity,
    "v1.Time": lambda _: _ZERO_TIME,
}
"""Texts of scalars and of structs that are scalars in JSON; templates have no times."""
