"""Bodies of subresources whose kind differs from that of their object."""

from typing import Any, Final

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import kind_versions
from stretto.api.schema.types import StructType
from stretto.api.wire.kinds import Kind
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request, unregistered
from stretto.web.api.objects.reading import parse_body, strict_warnings
from stretto.web.api.resources import go_package

Json = dict[str, Any]

_OLDER: Final = {"Eviction": ("policy/v1beta1",)}
"""Versions of kinds that are read but not served."""


def read_typed(call: Call, kind: Kind, struct: StructType) -> Json:
    """Decode the body of a request as an object of a kind.

    Raises:
        ApiError: it is malformed, or an object of another kind.
    """
    request = call.request
    value, problems = parse_body(request.body, request.header("content-type"), kind.kind)
    stated, version = value.get("kind") or kind.kind, value.get("apiVersion") or kind.api_version
    last = version.rpartition("/")[2]
    prefix = f'{stated} in version "{last}" cannot be handled as a {kind.kind}: '
    if stated != kind.kind:
        group = version.rpartition("/")[0]
        if (group, last, stated) in kind_versions():
            word = f"({last}.{stated}) to ({go_package(kind)}.{kind.kind})"
            raise bad_request(f"{prefix}converting {word}: unknown conversion")
        raise unregistered(stated, version, prefix)
    if version not in (kind.api_version, *_OLDER.get(stated, ())):
        raise unregistered(stated, version, prefix)
    found = Decoding()
    try:
        item = decode(value, struct, found)
    except DecodeError as error:
        raise bad_request(prefix + str(error)) from error
    problems += [f'unknown field "{path}"' for path in found.unknown]
    if problems and call.options.validation == "Strict":
        raise bad_request(f"{prefix}strict decoding error: {', '.join(problems)}")
    if call.options.validation == "Warn":
        call.warnings += strict_warnings(problems)
    return item
