"""The three patches of Kubernetes on parsed JSON: merge, strategic merge and JSON patch.

Each takes a document and a patch and returns a new document; neither argument is changed.
"""

import copy
from enum import StrEnum
from typing import Any, Final

import msgspec

from stretto.api.codec import parse
from stretto.api.edit.strategic import strategic_merge
from stretto.api.wire.limits import measured
from stretto.base.errors import ConflictError, InputError

MAX_OPERATIONS: Final = 10_000
"""Operations of one JSON patch: the limit of the API server since CVE-2019-1002100."""

MAX_GROWTH: Final = 3 << 20
"""Bytes that the copies of one JSON patch may add: each copy can double the document."""


class PatchType(StrEnum):
    """The media types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


def apply_patch(body: bytes, patch: bytes, patch_type: PatchType, where: str) -> bytes:
    """An object with a patch applied, as JSON; ``where`` names the object in errors."""
    document = parse(body, where)
    change = parse(patch, f"patch of {where}")
    try:
        patched = _patched(document, change, patch_type, where)
        if not isinstance(patched, dict):
            raise InputError(f"patch of {where}", patched, "a patch that leaves a JSON object")
        return measured(msgspec.json.encode(patched), where)
    except RecursionError as error:
        raise InputError(f"patch of {where}", "nested copies", "less nesting") from error


def _patched(document: Any, change: Any, patch_type: PatchType, where: str) -> Any:
    """The document after a patch of any type."""
    if patch_type is PatchType.JSON:
        return json_patch(document, change, where)
    if not isinstance(change, dict):
        raise InputError(f"patch of {where}", change, "a JSON object")
    if patch_type is PatchType.STRATEGIC:
        return strategic_merge(document, change, where)
    return merge_patch(document, change)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: members of ``patch`` replace those of ``target``; null removes a member."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


# ---------------------------------------------------------------- JSON patch


def json_patch(document: Any, operations: Any, where: str) -> Any:
    """RFC 6902: operations in order, all or none."""
    if not isinstance(operations, list):
        raise InputError(f"patch of {where}", operations, "a list of operations")
    if len(operations) > MAX_OPERATIONS:
        expected = f"at most {MAX_OPERATIONS} operations"
        raise InputError(f"patch of {where}", f"{len(operations)} operations", expected)
    patched = _JsonPatch(copy.deepcopy(document))
    for index, operation in enumerate(operations):
        patched.apply(operation, f"patch of {where}: operation {index}")
    return patched.root


class _JsonPatch:
    """A document to which a JSON patch is applied."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._growth = 0

    def apply(self, operation: Any, where: str) -> None:
        """One operation."""
        if not isinstance(operation, dict):
            raise InputError(where, operation, "an object with op and path")
        verb, path = operation.get("op"), _pointer(operation.get("path"), f"{where}: path")
        if verb in ("add", "replace", "test") and "value" not in operation:
            raise InputError(f"{where}: value", None, f"a value to {verb}")
        match verb:
            case "add":
                self._add(path, copy.deepcopy(operation["value"]), where)
            case "remove":
                self._remove(path, where)
            case "replace":
                self._replace(path, copy.deepcopy(operation["value"]), where)
            case "move":
                self._move(_pointer(operation.get("from"), f"{where}: from"), path, where)
            case "copy":
                source = _pointer(operation.get("from"), f"{where}: from")
                self._add(path, self._copied(source, where), where)
            case "test":
                if not _same(self._at(path, where), operation["value"]):
                    raise ConflictError(where, f"{_shown(path)} is not {operation['value']!r}")
            case _:
                raise InputError(f"{where}: op", verb, "add, remove, replace, move, copy or test")

    def _at(self, path: list[str], where: str) -> Any:
        """The value at a path."""
        value = self.root
        for step in path:
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list):
                value = value[_index(step, len(value), where)]
            else:
                raise InputError(where, _shown(path), "the path of an existing value")
        return value

    def _add(self, path: list[str], value: Any, where: str) -> None:
        if not path:
            self.root = value
            return
        holder = self._at(path[:-1], where)
        if isinstance(holder, dict):
            holder[path[-1]] = value
        elif isinstance(holder, list):
            end = path[-1] == "-"
            place = len(holder) if end else _index(path[-1], len(holder) + 1, where)
            holder.insert(place, value)
        else:
            raise InputError(where, _shown(path), "a path inside an object or a list")

    def _remove(self, path: list[str], where: str) -> Any:
        removed = self._at(path, where)
        if not path:
            self.root = None
            return removed
        holder = self._at(path[:-1], where)
        del holder[path[-1] if isinstance(holder, dict) else int(path[-1])]
        return removed

    def _replace(self, path: list[str], value: Any, where: str) -> None:
        self._at(path, where)
        if not path:
            self.root = value
            return
        holder = self._at(path[:-1], where)
        holder[path[-1] if isinstance(holder, dict) else int(path[-1])] = value

    def _move(self, source: list[str], path: list[str], where: str) -> None:
        if path[: len(source)] == source and len(path) > len(source):
            raise InputError(where, _shown(path), "a target outside of the moved value")
        if path != source:
            self._add(path, self._remove(source, where), where)

    def _copied(self, source: list[str], where: str) -> Any:
        """A copy of a value; its size is limited, because repeated copies grow exponentially."""
        value = self._at(source, where)
        self._growth += len(msgspec.json.encode(value))
        if self._growth > MAX_GROWTH:
            raise InputError(
                where, f"{self._growth} bytes", f"copies of at most {MAX_GROWTH} bytes"
            )
        return copy.deepcopy(value)


def _pointer(text: Any, where: str) -> list[str]:
    """RFC 6901: ``/a/b~1c/0`` as steps."""
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise InputError(where, text, "a JSON pointer such as /spec/nodeName")
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def _index(step: str, length: int, where: str) -> int:
    """An index into a list: plain digits without leading zeros."""
    plain = step.isascii() and step.isdigit() and (step == "0" or step[0] != "0")
    if not plain or len(step) > 9 or int(step) >= length:
        raise InputError(where, step, f"an index below {length}")
    return int(step)


def _same(one: Any, two: Any) -> bool:
    """Equality of JSON, where true differs from 1 (unlike in Python)."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[name], two[name]) for name in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two)


def _shown(path: list[str]) -> str:
    return "/" + "/".join(path)
