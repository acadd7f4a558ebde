"""Values as kube-apiserver's internal Go structs, which messages quote.

Internal structs have Go's names, except in types with tags such as metadata, a fixed order of
fields, and null for what is nil. ``scripts/kube_schema/structs`` prints the table of types.
"""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import takewhile
from typing import Any, Final

import msgspec

from stretto.api.schema.golang import html_escaped
from stretto.api.schema.reflected import GoTypes, go_types

Json = dict[str, Any]

_ZEROS: Final[Json] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "resource.Quantity": "0",
    "intstr.IntOrString": 0,
    "v1.Time": None,
    "runtime.RawExtension": None,
}
"""Values of absent scalars."""
_MOVED: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Members of the spec of a pod that the internal security context contains."""


def internal_form(type_: str, value: Any) -> Any:
    """Return a value as an internal struct.

    Args:
        type_: its Go type, such as ``core.SecurityContext``.
        value: the value as in the API; ``None`` if it is absent.
    """
    plain = _types().names.get(type_, type_)
    if plain in _ZEROS:
        return _ZEROS[plain] if value is None else value
    if plain.startswith("*"):
        return None if value is None else internal_form(plain[1:], value)
    if plain.startswith("[]"):
        return None if value is None else [internal_form(plain[2:], each) for each in value]
    if plain.startswith("map["):
        inner = plain.partition("]")[2]
        members = sorted(value or {})
        return {key: internal_form(inner, value[key]) for key in members} if members else None
    return dict(_members(plain, value or {}))


def internal_difference(type_: str, old: Any, new: Any) -> str:
    """Return the lines that differ between two values as internal structs, with their context.

    The comparison takes time by the square of the lines, so those of large values are not shown.
    """
    if max(len(msgspec.json.encode(each)) for each in (old, new)) > _MOST_BYTES:
        return _NOT_SHOWN
    before, after = (_lines(internal_form(type_, each)) for each in (old, new))
    if _changed(before, after) > _MOST_LINES:
        return _NOT_SHOWN
    return "".join(list(unified_diff(before, after))[2:])


_MOST_BYTES: Final = 16 << 10
"""Maximum size in JSON of a value whose difference is shown."""
_MOST_LINES: Final = 400
"""Maximum lines from the first to the last one that differs."""
_NOT_SHOWN: Final = "(the difference is too large to be shown)\n"


def _changed(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the number of lines of the longer text between the equal starts and ends."""
    pairs, ends = zip(before, after, strict=False), zip(before[::-1], after[::-1], strict=False)
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    same += len(list(takewhile(lambda pair: pair[0] == pair[1], ends)))
    return max(len(before), len(after)) - same


def _types() -> GoTypes:
    return go_types("internals.jsonl")


def _lines(value: Any) -> list[str]:
    shown = msgspec.json.format(msgspec.json.encode(value), indent=1)
    text = html_escaped(shown).decode()
    return [f"{line}\n" for line in text.split("\n")]


def _members(struct: str, value: Json) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a struct by their names in JSON."""
    if struct == "core.PodSpec":
        moved = {name: value[name] for name in _MOVED if name in value}
        account = value.get("serviceAccountName") or value.get("serviceAccount")
        context = {**(value.get("securityContext") or {}), **moved}
        value = {**value, "securityContext": context, "serviceAccountName": account}
    for shown, name, type_ in _types().structs.get(struct, ()):
        if not shown:
            inner = (value.get(name) or {}) if name else value
            yield from _members(type_, inner)
            continue
        key, _, option = shown.partition(",")
        form = internal_form(type_, value.get(name))
        if option and (form is None if type_.startswith("*") else not form):
            continue
        yield key, form
