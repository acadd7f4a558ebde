"""The three patches of Kubernetes on parsed JSON: merge, strategic merge and JSON patch.

Each takes a document and a patch and returns a new document; neither argument is changed.
"""

import copy
from enum import StrEnum
from typing import Any, Final

import jsonpatch
import jsonpointer
import msgspec

from stretto.api.codec import parse
from stretto.api.edit.strategic import strategic_merge
from stretto.api.wire.limits import measured
from stretto.base.errors import ConflictError, InputError

MAX_OPERATIONS: Final = 10_000
"""Operations of one JSON patch: the limit of the API server since CVE-2019-1002100."""

MAX_GROWTH: Final = 3 << 20
"""Bytes that the copies of one JSON patch may add: each copy can double the document."""

_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
"""Members that each verb of a JSON patch needs besides ``path``."""


class PatchType(StrEnum):
    """The media types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    #: The fields of one manager; JSON is YAML.
    APPLY = "application/apply-patch+yaml"


def apply_patch(body: bytes, patch: bytes, patch_type: PatchType, where: str) -> bytes:
    """An object with a patch applied, as JSON; ``where`` names the object in errors."""
    document = parse(body, where)
    change = parse(patch, f"patch of {where}")
    try:
        patched = _patched(document, change, patch_type, where)
        if not isinstance(patched, dict):
            raise InputError(f"patch of {where}", patched, "a patch that results in a JSON object")
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
    """A document after the operations of RFC 6902, in order; all of them apply or none does.

    The library ``jsonpatch`` applies each operation. This function adds the bounds on operations
    and on copies, and errors that name the operation by its index.

    Raises:
        InputError: an operation is malformed, does not apply, or exceeds a bound.
        ConflictError: a ``test`` operation found another value.
    """
    if not isinstance(operations, list):
        raise InputError(f"patch of {where}", operations, "a list of operations")
    if len(operations) > MAX_OPERATIONS:
        expected = f"at most {MAX_OPERATIONS} operations"
        raise InputError(f"patch of {where}", f"{len(operations)} operations", expected)
    patched, growth = copy.deepcopy(document), 0
    for index, operation in enumerate(operations):
        here = f"patch of {where}: operation {index}"
        _check_shape(operation, here)
        try:
            if operation["op"] == "copy":
                growth += len(msgspec.json.encode(_at(patched, operation["from"])))
                _check_growth(growth, here)
            elif operation["op"] == "test" and _tests_absence(patched, operation):
                continue
            patched = jsonpatch.JsonPatch([operation]).apply(patched, in_place=True)
        except jsonpatch.JsonPatchTestFailed as error:
            reason = f"{operation['path'] or '/'} is not {operation['value']!r}"
            raise ConflictError(here, reason) from error
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            reason, missing, _ = str(error).partition(" not found in ")  # the whole object follows
            reason = f"{reason} not found" if missing else reason
            expected = f"an operation that applies to the object ({reason})"
            raise InputError(here, operation["path"], expected) from error
    return patched


def _tests_absence(document: Any, operation: Any) -> bool:
    """Whether a test for null names nothing, which holds on an API server.

    Raises:
        JsonPointerException: the document has no such value, and the test is for another one.
    """
    try:
        _at(document, operation["path"])
    except jsonpointer.JsonPointerException:
        if operation["value"] is not None:
            raise
        return True
    return False


def _check_shape(operation: Any, where: str) -> None:
    """Refuse an operation without a verb, a pointer or the members that its verb needs."""
    if not isinstance(operation, dict):
        raise InputError(where, operation, "an object with op and path")
    verb = operation.get("op")
    if not isinstance(verb, str) or verb not in _MEMBERS:
        raise InputError(f"{where}: op", verb, "add, remove, replace, move, copy or test")
    for member in ("path", *_MEMBERS[verb]):
        if member == "value" and "value" not in operation:
            raise InputError(f"{where}: value", None, f"a value to {verb}")
        pointer = operation.get(member)
        is_pointer = isinstance(pointer, str) and (not pointer or pointer.startswith("/"))
        if member != "value" and not is_pointer:
            raise InputError(f"{where}: {member}", pointer, "a JSON pointer such as /spec/nodeName")


def _check_growth(growth: int, where: str) -> None:
    """Refuse copies of copies: each may double the document."""
    if growth > MAX_GROWTH:
        raise InputError(where, f"{growth} bytes", f"copies of at most {MAX_GROWTH} bytes")


def _at(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer.

    Raises:
        JsonPointerException: the document has no such value.
    """
    found = jsonpointer.JsonPointer(pointer).resolve(document)
    if isinstance(found, jsonpointer.EndOfList):
        raise jsonpointer.JsonPointerException("'-' names no existing element")
    return found
