"""JSON patch, merge patch and strategic merge patch on objects of a kind."""

from typing import Any, Final

from stretto.api.edit.json_patch import MAX_OPERATIONS, OperationError, operated
from stretto.api.edit.patch import merge_patch
from stretto.api.edit.strategic import (
    RetainKeysError,
    StrategicPatchError,
    strategic_merge,
)
from stretto.api.schema.types import StructType
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.objects.reading import no_object
from stretto.web.api.patching.bodies import parsed_patch
from stretto.web.api.patching.media import JSON_PATCH, STRATEGIC_PATCH
from stretto.web.api.patching.outcomes import PatchResult

Json = dict[str, Any]

_MEMBERS: Final = frozenset({"op", "path", "from", "value"})
"""Members of an operation of a JSON patch."""


def patched(call: Call, item: Json, media: str, struct: StructType) -> PatchResult:
    """Return an object with the patch of a request; the given object does not change.

    Raises:
        ApiError: the patch is malformed or does not apply.
    """
    change, repeated = parsed_patch(call, media)
    problems = [f'duplicate field "{path}"' for path in repeated]
    if media == JSON_PATCH:
        return _operated(item, change, problems, struct)
    if media == STRATEGIC_PATCH:
        return PatchResult(_merged(item, change, struct), problems, item, change, media)
    merged = merge_patch(item, change, prunes_lists=True)
    result = PatchResult(merged, problems, item, change, media, struct)
    if isinstance(merged, list):
        raise result.refusal(no_object(merged))
    return result


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
    for index, each in enumerate(operations):
        unknown = [name for name in each or () if name not in _MEMBERS]
        problems += [f'unknown field "[{index}].{name}"' for name in unknown]
    if len(operations) > MAX_OPERATIONS:
        text = (
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", text)
    try:
        result = operated(item, operations)
    except OperationError as error:
        raise _inapplicable() from error
    problems = [f"json patch {each}" for each in problems]
    return PatchResult(result, problems, item, operations, JSON_PATCH, struct)


def _inapplicable() -> ApiError:
    """422 about an operation that does not apply."""
    head = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", head, {})
