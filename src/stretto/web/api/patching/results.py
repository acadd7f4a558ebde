"""Decoding of patched values by their kind, with the findings of strict decoding."""

from collections.abc import Callable
from typing import Any, Final

from stretto.api.schema.decoding import DecodeError
from stretto.api.schema.types import Form, StructType, ValueType
from stretto.api.schema.unstructured import conversion_fault, object_fault
from stretto.web.api.call import Call
from stretto.web.api.crds.stated import check_patched
from stretto.web.api.objects.reading import strict_warnings
from stretto.web.api.patching.outcomes import PatchResult

Json = dict[str, Any]

_TEXT: Final = ValueType(Form.STRING)

Read = Callable[[Json], tuple[Json, list[str]]]
"""Decodes a value as its kind, with messages of strict decoding; raises ``DecodeError``."""


def read_result(call: Call, result: PatchResult, struct: StructType, read: Read) -> Json:
    """Return the object that results from a patch.

    Raises:
        ApiError: the value does not match its kind, or strict validation refuses it.
    """
    if call.resource.definition is not None and result.struct is None:
        check_patched(result, call.resource)
    if fault := _conversion_fault(result, struct):
        raise result.refusal(fault)
    try:
        item, unknown = _decoded(result, read)
    except DecodeError as error:
        raise result.refusal(str(error)) from error
    problems = [*result.problems, *(sorted(unknown) if result.is_strategic else unknown)]
    if problems and call.options.validation == "Strict":
        raise result.refusal(f"strict decoding error: {', '.join(problems)}")
    if call.options.validation == "Warn":
        call.warnings.extend(strict_warnings(problems))
    return item


def _decoded(result: PatchResult, read: Read) -> tuple[Json, list[str]]:
    """Return the object as its kind, with findings in the order of the decoded text.

    Raises:
        DecodeError: the value does not match its kind.
    """
    if result.is_strategic:
        return read(result.item)
    if not result.item.get("apiVersion") and result.struct is not None:
        return _unversioned(result)
    try:
        item, unknown = read(result.item)
    except DecodeError:
        return read(result.written)
    return read(result.written) if unknown else (item, unknown)


def _unversioned(result: PatchResult) -> tuple[Json, list[str]]:
    """Return the empty object as which kube-apiserver reads a value without a version.

    Without a version, it is a value of internal types, none of whose members has a name in JSON.
    """
    names = [name for name in result.written if name not in ("kind", "apiVersion")]
    return {"metadata": {}}, [f'unknown field "{name}"' for name in names]


def _conversion_fault(result: PatchResult, struct: StructType) -> str:
    """Return why the result of a strategic merge does not match its kind; empty if it does.

    The merge never changes the kind and the version, but both have to be texts.
    """
    if not result.is_strategic:
        return ""
    types = (conversion_fault(result.change.get(name), _TEXT) for name in ("kind", "apiVersion"))
    return next(filter(None, types), "") or object_fault(result.item, struct)
