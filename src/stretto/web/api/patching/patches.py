"""JSON patch, merge patch and strategic merge patch on objects of a kind."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.edit.json_patch import MAX_OPERATIONS, OperationError, operated
from stretto.api.edit.patch import merge_patch
from stretto.api.edit.strategic import (
    RetainKeysError,
    StrategicPatchError,
    strategic_merge,
    unordered,
)
from stretto.api.schema.golang import go_value, json_type
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.api.wire.limits import MORE_VALUES
from stretto.web.api import failures
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.objects import json_text
from stretto.web.api.objects.json_text import JsonTextError
from stretto.web.api.patching.media import JSON_PATCH, STRATEGIC_PATCH
from stretto.web.api.patching.quoting import (
    Opened,
    opened_by_merge,
    opened_by_operations,
    quoted_object,
)

Json = dict[str, Any]

_MEMBERS: Final = frozenset({"op", "path", "from", "value"})
"""Members of an operation of a JSON patch."""
_NO_KIND: Final = Kind("", "", "", "")


@dataclass(frozen=True)
class PatchResult:
    """A patched object that is not decoded by its kind yet."""

    #: The object.
    item: Json
    #: Duplicate and unknown members of the patch itself.
    problems: Sequence[str] = ()
    #: A strategic patch; messages quote it instead of the object.
    change: Json | None = None
    #: Type of the object; ``None`` for a custom resource.
    struct: StructType | None = None
    #: The maps in the patch.
    opened: Opened = field(default_factory=dict)

    @property
    def is_strategic(self) -> bool:
        """Return whether the object is the result of a strategic merge."""
        return self.change is not None

    def refusal(self, why: str) -> ApiError:
        """422 about a patched object that does not match its kind."""
        if self.change is None:
            text = quoted(quoted_object(self.item, self.struct, self.opened))
        else:
            text = quoted(go_value(unordered(self.change)))
        cause = ("FieldValueInvalid", f"Invalid value: {text}: {why}", "patch")
        return failures.invalid(_NO_KIND, "", [cause])


def patched(item: Json, body: bytes, media: str, struct: StructType, kind: str = "") -> PatchResult:
    """Return an object with a patch applied; the given object does not change.

    The kind determines the maximum number of values.

    Raises:
        ApiError: the patch is malformed or does not apply.
    """
    prefix = "" if media == STRATEGIC_PATCH else "error decoding patch: "
    try:
        most = MORE_VALUES if media == JSON_PATCH else json_text.most_values(kind)
        change, repeated = json_text.parse(body, most)
    except JsonTextError as error:
        raise bad_request(f"{prefix}{error}") from error
    problems = [f'duplicate field "{path}"' for path in repeated]
    if media == JSON_PATCH:
        return _operated(item, change, problems, struct)
    if change is None and media == STRATEGIC_PATCH:
        change = {}
    if not isinstance(change, dict):
        text = f"{prefix}json: cannot unmarshal {json_type(change)} into Go value of type "
        raise bad_request(f"{text}map[string]interface {{}}")
    if media == STRATEGIC_PATCH:
        return PatchResult(_merged(item, change, struct), problems, change)
    opened = opened_by_merge(change)
    return PatchResult(merge_patch(item, change), problems, struct=struct, opened=opened)


def _merged(item: Json, change: Json, struct: StructType) -> Json:
    """Return an object with a strategic merge patch, which never changes its type."""
    typed = {name: item[name] for name in ("kind", "apiVersion")}
    try:
        return {**strategic_merge(item, change, struct), **typed}
    except RetainKeysError as error:
        raise bad_request(str(error)) from error
    except StrategicPatchError as error:
        raise failures.internal(str(error)) from error


def _operated(item: Json, operations: Any, problems: list[str], struct: StructType) -> PatchResult:
    """Return an object after the operations of a JSON patch."""
    prefix = "error decoding patch: json: cannot unmarshal"
    if not isinstance(operations, list):
        word = json_type(operations)
        raise bad_request(f"{prefix} {word} into Go value of type []handlers.jsonPatchOp")
    for index, each in enumerate(operations):
        if not isinstance(each, dict):
            word = json_type(each)
            raise bad_request(f"{prefix} {word} into Go value of type handlers.jsonPatchOp")
        unknown = [name for name in each if name not in _MEMBERS]
        problems += [f'unknown field "[{index}].{name}"' for name in unknown]
    if len(operations) > MAX_OPERATIONS:
        text = (
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got "
            f"{len(operations)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", text)
    try:
        result = operated(item, operations)
    except OperationError as error:
        raise _inapplicable() from error
    problems = [f"json patch {each}" for each in problems]
    opened = opened_by_operations(operations)
    return PatchResult(result, problems, struct=struct, opened=opened)


def _inapplicable() -> ApiError:
    """422 about an operation that does not apply."""
    head = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", head, {})
