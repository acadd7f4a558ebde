"""Decoding of patched values by their kind, with the findings of strict decoding."""

from collections.abc import Callable
from typing import Any

from stretto.api.edit.apply.walking import struct_value
from stretto.api.schema.decoding import DecodeError
from stretto.api.schema.types import StructType
from stretto.web.api.call import Call
from stretto.web.api.objects.reading import strict_warnings
from stretto.web.api.patching.patches import PatchResult
from stretto.web.api.patching.unstructured import conversion_fault

Json = dict[str, Any]

Read = Callable[[Json], tuple[Json, list[str]]]
"""Decodes a value as its kind, with messages of strict decoding; raises ``DecodeError``."""


def read_result(call: Call, result: PatchResult, struct: StructType, read: Read) -> Json:
    """Return the object that results from a patch.

    Raises:
        ApiError: the value does not match its kind, or strict validation refuses it.
    """
    fault = conversion_fault(result.item, struct_value(struct)) if result.is_strategic else ""
    if fault:
        raise result.refusal(fault)
    try:
        item, unknown = read(result.item)
    except DecodeError as error:
        raise result.refusal(str(error)) from error
    problems = [*result.problems, *(sorted(unknown) if result.is_strategic else unknown)]
    if problems and call.options.validation == "Strict":
        raise result.refusal(f"strict decoding error: {', '.join(problems)}")
    if call.options.validation == "Warn":
        call.warnings.extend(strict_warnings(problems))
    return item
