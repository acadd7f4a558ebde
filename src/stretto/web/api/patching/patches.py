"""JSON patch, merge patch and strategic merge patch on objects of a kind."""

import json
from typing import Any, Final

import msgspec

from stretto.api.edit.patch import MAX_OPERATIONS, json_patch, merge_patch
from stretto.api.schema.decoding import json_word
from stretto.api.schema.types import StructType
from stretto.base.errors import ConflictError, InputError
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.patching.strategic import strategic_patch

Json = dict[str, Any]

_JSON: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"


def patched(item: Json, body: bytes, media: str, struct: StructType) -> Json:
    """An object with a patch applied; the object is not changed.

    Raises:
        ApiError: the patch is malformed or does not apply.
    """
    if media == _JSON:
        return _json(item, body)
    try:
        change = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding patch: {_complaint(body)}") from error
    if not isinstance(change, dict):
        word = json_word(change)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {word} into Go value of type "
            "map[string]interface {}"
        )
    result = merge_patch(item, change) if media == _MERGE else strategic_patch(item, change, struct)
    if not isinstance(result, dict):
        raise bad_request("the patch does not yield an object")
    return result


def _json(item: Json, body: bytes) -> Json:
    try:
        operations = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"error decoding patch: {_complaint(body)}") from error
    if not isinstance(operations, list):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_word(operations)} into Go value "
            "of type []handlers.jsonPatchOp"
        )
    for each in operations:
        if not isinstance(each, dict):
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {json_word(each)} into Go value of "
                "type handlers.jsonPatchOp"
            )
    if len(operations) > MAX_OPERATIONS:
        text = (
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got "
            f"{len(operations)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", text)
    try:
        result = json_patch(item, operations, "object")
    except (InputError, ConflictError) as error:
        raise _inapplicable() from error
    if not isinstance(result, dict):
        raise _inapplicable()
    return result


def _inapplicable() -> ApiError:
    """422 about an operation that does not apply."""
    head = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", head, {})


def _complaint(body: bytes) -> str:
    text = body.decode(errors="replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return "unexpected end of JSON input"
        return f"invalid character '{text[error.pos]}' looking for beginning of value"
    except RecursionError:
        return "exceeded max depth"
    return "invalid JSON"
