"""Patches of requests as parsed, with kube-apiserver's errors about values of other types.

Without strict decoding (``fieldValidation=Ignore``) the library of patches parses a JSON patch and
a merge patch, with errors of its own.
"""

from typing import Any, Final

from stretto.api.schema.golang import json_type
from stretto.api.wire.limits import MORE_VALUES
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request
from stretto.web.api.objects.json_text import JsonTextError, most_values, parse
from stretto.web.api.patching.media import JSON_PATCH, STRATEGIC_PATCH

_NO_PATCH: Final = "Invalid JSON Patch"
_STRICT: Final = "error decoding patch: "
_MAP: Final = "map[string]interface {}"
_TEXTS: Final = ("op", "path", "from")
"""Members of an operation of a JSON patch that are texts."""


def parsed_patch(call: Call, media: str) -> tuple[Any, list[str]]:
    """Return the value of a patch and its duplicate members.

    A JSON patch is a list of objects or null. A strategic patch is an object. A merge patch is an
    object, or without strict decoding a list.

    Raises:
        ApiError: the patch is malformed or has another type.
    """
    is_strict = call.options.validation != "Ignore"
    prefix = _STRICT if is_strict and media != STRATEGIC_PATCH else ""
    is_lax = media not in (JSON_PATCH, STRATEGIC_PATCH) and not is_strict
    try:
        most = MORE_VALUES if media == JSON_PATCH else most_values(call.resource.kind.kind)
        change, repeated = parse(call.request.body, most)
    except JsonTextError as error:
        raise bad_request(_NO_PATCH if is_lax else f"{prefix}{error}") from error
    if media == JSON_PATCH:
        _check_operations(change, is_strict=is_strict)
        return change or [], repeated
    if media == STRATEGIC_PATCH and change is None:
        return {}, []
    if not isinstance(change, dict | list if is_lax else dict):
        fault = _mismatch(change, _MAP)
        raise bad_request(_NO_PATCH if change is None or is_lax else f"{prefix}{fault}")
    return change, repeated


def _mismatch(value: Any, target: str) -> str:
    return f"json: cannot unmarshal {json_type(value)} into Go value of type {target}"


def _check_operations(operations: Any, *, is_strict: bool) -> None:
    """Refuse a JSON patch that is no list of objects with texts."""
    prefix = _STRICT if is_strict else ""
    if not isinstance(operations, list | None):
        whole = "[]handlers.jsonPatchOp" if is_strict else "jsonpatch.Patch"
        raise bad_request(f"{prefix}{_mismatch(operations, whole)}")
    for each in operations or ():
        if not isinstance(each, dict | None):
            one = "handlers.jsonPatchOp" if is_strict else "jsonpatch.Operation"
            raise bad_request(f"{prefix}{_mismatch(each, one)}")
        for name in _TEXTS if is_strict else ():
            stated = each.get(name) if each else None
            if not isinstance(stated, str | None):
                target = f"Go struct field jsonPatchOp.{name} of type string"
                word = json_type(stated)
                raise bad_request(f"{prefix}json: cannot unmarshal {word} into {target}")
