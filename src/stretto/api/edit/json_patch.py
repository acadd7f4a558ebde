"""JSON patches, and the errors of operations that do not apply.

The rules and the error texts are those of the library of kube-apiserver and KubeAdmiral
(github.com/evanphx/json-patch, version 4). It differs from RFC 6902: a missing member of an object
can be replaced, tested for null and copied as null, and an index below zero counts from the end.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import quoted
from stretto.api.wire.limits import MAX_DEPTH
from stretto.api.wire.selectors import integer
from stretto.api.wire.values import copied, is_alike, levels

Json = dict[str, Any]

MAX_OPERATIONS: Final = 10_000
"""Maximum operations of a JSON patch: the limit of the API server since CVE-2019-1002100."""
MAX_GROWTH: Final = 3 << 20
"""Maximum bytes that the copies of a JSON patch may add; each copy can double the document."""
_MISSING: Final = "missing value"


_TOO_DEEP: Final = f"the result has more than {MAX_DEPTH} levels of nesting"


class OperationError(Exception):
    """An operation does not apply."""


class FailedTestError(OperationError):
    """An operation ``test`` found another value."""


def operated(document: Json, operations: Sequence[Any]) -> Json:
    """Apply operations to a document; neither argument is changed.

    Raises:
        OperationError: an operation does not apply.
    """
    if len(operations) > MAX_OPERATIONS:
        raise OperationError(f"{len(operations)} operations, more than {MAX_OPERATIONS}")
    changed: Json = copied(document)
    try:
        operate(changed, copied(operations))
    except RecursionError as error:
        raise OperationError(_TOO_DEEP) from error
    if levels(changed) > MAX_DEPTH:
        raise OperationError(_TOO_DEEP)
    return changed


def operate(changed: Json, operations: Sequence[Any]) -> None:
    """Apply operations in place, without limits of their number and of the depth of the result.

    The document contains their values afterwards.

    Raises:
        OperationError: an operation does not apply.
    """
    growth = 0
    for each in operations:
        if not isinstance(each, dict):
            raise OperationError("an operation is not an object")
        verb = str(each.get("op", ""))
        if verb not in _VERBS:
            raise OperationError(f"Unexpected kind: {verb}")
        if verb == "copy":
            growth += _size(changed, str(each.get("from", "")))
        if growth > MAX_GROWTH:
            raise OperationError(f"copies of {growth} bytes, more than {MAX_GROWTH}")
        _VERBS[verb](changed, each)


def value_at(document: Json, path: str) -> Any:
    """Return the value at a pointer; ``None`` if there is none."""
    owner, key = _owner(document, path)
    try:
        return None if owner is None else _value(owner, key)
    except OperationError:
        return None


def _size(document: Json, path: str) -> int:
    """Number of bytes of the value at a pointer, as JSON."""
    return len(msgspec.json.encode(value_at(document, path)))


def _add(document: Json, operation: Json) -> None:
    path = str(operation.get("path", ""))
    owner, key = _owner(document, path)
    if owner is None:
        problem = f'add operation does not apply: doc is missing path: "{path}"'
        raise OperationError(f"{problem}: {_MISSING}")
    _inserted(owner, key, operation.get("value"), f"error in add for path: '{path}'")


def _remove(document: Json, operation: Json) -> None:
    path = str(operation.get("path", ""))
    owner, key = _owner(document, path)
    if owner is None:
        problem = f'remove operation does not apply: doc is missing path: "{path}"'
        raise OperationError(f"{problem}: {_MISSING}")
    _removed(owner, key, f"error in remove for path: '{path}'")


def _replace(document: Json, operation: Json) -> None:
    path = str(operation.get("path", ""))
    head = "replace operation does not apply: doc is missing"
    if not path:
        _become(document, operation.get("value"))
        return
    owner, key = _owner(document, path)
    if owner is None:
        raise OperationError(f"{head} path: {path}: {_MISSING}")
    if isinstance(owner, list):
        try:
            owner[_index(key, len(owner))] = operation.get("value")
        except OperationError as error:
            raise OperationError(f"{head} key: {path}: {_MISSING}") from error
    else:
        owner[key] = operation.get("value")


def _become(document: Json, value: Any) -> None:
    """Replace the whole document."""
    if not isinstance(value, dict):
        raise OperationError("replace operation hit array or scalar root")
    whole = dict(value)
    document.clear()
    document.update(whole)


def _move(document: Json, operation: Json) -> None:
    source = str(operation.get("from", ""))
    owner, key = _owner(document, source)
    if owner is None:
        head = "move operation does not apply: doc is missing from path"
        raise OperationError(f"{head}: {source}: {_MISSING}")
    value = _removed(owner, key, f"error in move for path: '{key}'")
    _placed(document, operation, value, "move")


def _copy(document: Json, operation: Json) -> None:
    source = str(operation.get("from", ""))
    owner, key = _owner(document, source)
    if owner is None:
        head = "copy operation does not apply: doc is missing from path"
        raise OperationError(f"{head}: {source}: {_MISSING}")
    try:
        value = copied(_value(owner, key))
    except OperationError as error:
        raise OperationError(f"error in copy for from: '{source}': {error}") from error
    _placed(document, operation, value, "copy")


def _placed(document: Json, operation: Json, value: Any, verb: str) -> None:
    """Add a moved or copied value at its destination."""
    path = str(operation.get("path", ""))
    owner, key = _owner(document, path)
    if owner is None:
        head = f"{verb} operation does not apply: doc is missing destination path"
        raise OperationError(f"{head}: {path}: {_MISSING}")
    _inserted(owner, key, value, f"error in {verb} for path: '{path}'")


def _test(document: Json, operation: Json) -> None:
    path = str(operation.get("path", ""))
    if not path:
        if not is_alike(document, operation.get("value")):
            raise FailedTestError(f"testing value {path} failed: test failed")
        return
    owner, key = _owner(document, path)
    if owner is None:
        raise FailedTestError(f"test operation does not apply: is missing path: {path}: {_MISSING}")
    try:
        found = _value(owner, key)
    except OperationError as error:
        raise OperationError(f"error in test for path: '{path}': {error}") from error
    if not is_alike(found, operation.get("value")):
        raise FailedTestError(f"testing value {path} failed: test failed")


_VERBS: Final[Mapping[str, Callable[[Json, Json], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
"""Operations by verb; each changes the document."""


def _owner(document: Json, path: str) -> tuple[Json | list[Any] | None, str]:
    """The container and key of the value at a pointer; container ``None`` if missing."""
    parts = pointer_parts(path)
    if not parts:
        return None, ""
    found: Any = document
    for part in parts[:-1]:
        try:
            found = _value(found, part)
        except OperationError:
            return None, ""
        if not isinstance(found, dict | list):
            return None, ""
    return found, parts[-1]


def pointer_parts(path: str) -> list[str]:
    """Return the keys of a pointer; none for that of the whole document."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _value(owner: Json | list[Any], key: str) -> Any:
    if isinstance(owner, dict):
        return owner.get(key)
    return owner[_index(key, len(owner))]


def _index(key: str, length: int) -> int:
    """The index of an existing item."""
    number = _number(key)
    if not -length <= number < length:
        raise OperationError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number


def _number(key: str) -> int:
    number = integer(key)
    if number is None:
        raise OperationError(f"strconv.Atoi: parsing {quoted(key)}: invalid syntax")
    return number


def _inserted(owner: Json | list[Any], key: str, value: Any, head: str) -> None:
    """Add a value; in a list, insert it before the item with its index."""
    if isinstance(owner, dict):
        owner[key] = value
        return
    try:
        number = len(owner) if key == "-" else _number(key)
    except OperationError as error:
        problem = f"value was not a proper array index: '{key}'"
        raise OperationError(f"{head}: {problem}: {error}") from error
    size = len(owner) + 1
    if not -size <= number < size:
        problem = f"Unable to access invalid index: {number}: invalid index referenced"
        raise OperationError(f"{head}: {problem}")
    owner.insert(number + size if number < 0 else number, value)


def _removed(owner: Json | list[Any], key: str, head: str) -> Any:
    """Remove a value from its container."""
    if isinstance(owner, dict):
        if key not in owner:
            problem = f"Unable to remove nonexistent key: {key}: {_MISSING}"
            raise OperationError(f"{head}: {problem}")
        return owner.pop(key)
    try:
        return owner.pop(_index(key, len(owner)))
    except OperationError as error:
        raise OperationError(f"{head}: {error}") from error
