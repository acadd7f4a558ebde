"""Decoding of request bodies: media types, the kind's struct, and strict errors."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from stretto.api.edit import yaml_text
from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.golang import json_type
from stretto.api.schema.kubernetes import kind_versions, struct
from stretto.api.schema.protobuf import (
    ProtobufError,
    TooManyValuesError,
    decode_message,
    open_envelope,
)
from stretto.base.errors import InputError
from stretto.web.api.crds.objects import read_custom
from stretto.web.api.encoding import PROTOBUF, SERVED
from stretto.web.api.failures import ApiError, WarnedError, bad_request, no_kind, unconvertible
from stretto.web.api.objects import json_text
from stretto.web.api.resources import ServedResource, go_package

Json = dict[str, Any]

YAML_TYPES: Final = ("application/yaml", "application/apply-patch+yaml")
"""Media types of YAML."""
_ACCEPTED: Final = ", ".join(SERVED)
_UNKNOWN_FORMAT: Final = (
    "the body of the request was in an unknown format - accepted media types include: "
)
_NO_TYPE: Final = "couldn't get version/kind; json parse error: "
_SHOWN: Final = 30
_YAML_ERRORS: Final = "yaml: unmarshal errors:"
YAML_CONVERSION: Final = "error converting YAML to JSON: "
"""Prefix of errors of a strict YAML text that is converted to JSON."""


class OtherKindError(DecodeError):
    """The object has a kind or version that differs from the path."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        #: True if only the version differs, to which kube-apiserver converts the object.
        self.is_convertible = not text


def media_type(header: str) -> str:
    """Return the media type of a ``Content-Type`` without parameters; JSON if absent."""
    return header.partition(";")[0].strip().lower() or "application/json"


def parse_body(
    body: bytes, content_type: str, expected: str, most: int | None = None
) -> tuple[Any, list[str]]:
    """Parse a body; return its value and the errors of strict decoding: duplicate members.

    Args:
        body: the bytes.
        content_type: the header of the request.
        expected: the kind of the path, for messages; empty for none.
        most: maximum number of values; ``None``: that of the kind.
    """
    json_text.check_size(body)
    media = media_type(content_type)
    most = json_text.most_values(expected) if most is None else most
    if media == PROTOBUF:
        return _protobuf(body, expected), []
    if media in YAML_TYPES:
        value, problems = _yaml_object(body, expected, most)
    elif media == "application/json":
        value, problems = _json_object(body, expected, most)
    else:
        raise ApiError(415, "UnsupportedMediaType", _UNKNOWN_FORMAT + _ACCEPTED)
    if expected:
        _check_type(value, expected, body)
    return value, problems


def _yaml_object(body: bytes, expected: str, most: int) -> tuple[Any, list[str]]:
    """Parse YAML; an empty document is an empty object of the expected kind."""
    value, problems = _yaml(body, most)
    if not expected:
        return value, problems
    if value is not None and not isinstance(value, dict):
        raise unrecognized(expected, no_object(value), body)
    return value or {}, problems


def _json_object(body: bytes, expected: str, most: int) -> tuple[Json, list[str]]:
    """Parse JSON with an object; null is an empty object of the expected kind."""
    try:
        value, repeated = json_text.parse(body, most)
    except json_text.JsonTextError as error:
        raise _unread(expected, f"{_NO_TYPE}{error}", body) from error
    if value is None and expected:
        value = {}
    if not isinstance(value, dict):
        raise _unread(expected, no_object(value), body)
    return value, json_text.TextProblems(body, repeated) if repeated else []


def _unread(expected: str, why: str, body: bytes) -> ApiError:
    return unrecognized(expected, why, body) if expected else bad_request(why)


def unrecognized(expected: str, why: str, body: bytes) -> ApiError:
    """Return the refusal of a body in which kube-apiserver finds no kind."""
    head = f"the object provided is unrecognized (must be of type {expected}): "
    return bad_request(f"{head}{why} ({_excerpt(body)})")


def _check_type(value: Json, expected: str, body: bytes) -> None:
    """Refuse a body whose kind or version is not a text."""
    if fault := _type_fault(value):
        raise unrecognized(expected, fault, body)


def _type_fault(value: Json) -> str:
    """Return the error of Go's decoder about a kind or version that is no text; empty if none."""
    if isinstance(value.get("kind", ""), str) and isinstance(value.get("apiVersion", ""), str):
        return ""
    for name, stated in value.items():
        if name in ("kind", "apiVersion") and not isinstance(stated, str | None):
            target = f"Go struct field .{name} of type string"
            return f"{_NO_TYPE}json: cannot unmarshal {json_type(stated)} into {target}"
    return ""


def no_object(value: Any) -> str:
    """Return the error about a value that is not an object."""
    return (
        f"{_NO_TYPE}json: cannot unmarshal {json_type(value)} into Go value of type struct "
        '{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
        f'Kind string "json:\\"kind,omitempty\\"" }}'
    )


def _excerpt(body: bytes) -> str:
    """Return the start of a body for messages: as text if it is an object, otherwise in hex."""
    start = body[:_SHOWN]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return f"{shown}{' ...' if len(body) > _SHOWN else ''}" or "<empty>"


def _protobuf(body: bytes, expected: str) -> Json:
    """Decode the object of an envelope."""
    try:
        found = open_envelope(body)
        group, _, version = found.api_version.rpartition("/")
        name = kind_versions().get((group, version, found.kind))
        if found.kind == "DeleteOptions":
            name = "meta/v1.DeleteOptions"
        if name is None:
            text = f"{found.api_version} {found.kind} has no protobuf form"
            raise bad_request(text)
        most = json_text.most_values(found.kind)
        item = decode_message(found.raw, struct(name), most)
    except TooManyValuesError:
        json_text.check_count(most + 1, most)
        raise
    except ProtobufError as error:
        text = (
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
        raise unrecognized(expected, text, body) from error
    return {"apiVersion": found.api_version, "kind": found.kind, **item}


def _yaml(body: bytes, most: int) -> tuple[Any, list[str]]:
    """Read the first document of a text; the others are not read, as in kube-apiserver."""
    if body.startswith(b"{"):
        with suppress(json_text.JsonTextError):
            value, twice = json_text.parse(body, most)
            if not twice:
                return value, []
    repeated: list[str] = []
    try:
        documents = yaml_text.load_documents(body, "body", most, repeated)
        _, document = next(documents, ("", None))
    except InputError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    problems = [_YAML_ERRORS + "".join(f"\n  {each}" for each in repeated)] if repeated else []
    return document, problems


def read_object(
    value: Json,
    repeated: list[str],
    resource: ServedResource,
    validation: str,
    *,
    is_applied: bool = False,
) -> tuple[Json, list[str]]:
    """Decode an object of a kind from a parsed body; return it with warnings.

    Args:
        value: the body.
        repeated: messages of strict decoding about its duplicate members.
        resource: the resource of the path.
        validation: ``Strict``, ``Warn`` or ``Ignore``.
        is_applied: whether the object is the result of an apply, whose nulls are values.
    """
    kind = resource.kind
    if isinstance(repeated, json_text.TextProblems) and resource.definition is None:
        value = repeated.united
    stated, version = value.get("kind"), value.get("apiVersion")
    prefix = f'{stated or kind.kind} in version "{_version_of(version, kind.version)}" cannot be '
    prefix += f"handled as a {kind.kind}: "
    try:
        item, unknown = decoded_object(value, resource, is_merged=is_applied)
    except OtherKindError as error:
        if not error.is_convertible:
            raise bad_request(prefix + str(error)) from error
        text = f"the API version in the data ({version}) does not match the expected API version "
        refusal = bad_request(f"{text}({kind.api_version})")
        if resource.definition is None:
            raise refusal from error
        raise WarnedError(refusal, _unknown(value)) from error
    except DecodeError as error:
        if is_applied and resource.definition is None:
            raise unconvertible(kind, value, resource.struct, error) from error
        raise bad_request(prefix + str(error)) from error
    problems = [*repeated, *unknown]
    if isinstance(repeated, json_text.TextProblems) and resource.definition is None:
        problems = repeated.joined(unknown)
    if problems and validation == "Strict":
        raise bad_request(f"{prefix}strict decoding error: {', '.join(problems)}")
    return item, strict_warnings(problems) if validation == "Warn" else []


def strict_warnings(problems: Iterable[str]) -> list[str]:
    """Return warnings about errors of strict decoding, one per line about YAML."""
    found: list[str] = []
    for each in problems:
        head, _, lines = each.partition(f"{_YAML_ERRORS}\n")
        if lines and head in ("", YAML_CONVERSION):
            found += [line.strip() for line in lines.split("\n")]
        else:
            found.append(each)
    return found


def _unknown(value: Json) -> list[str]:
    """Return warnings about a custom object in a version that does not exist."""
    others = set(value) - {"kind", "apiVersion", "metadata"}
    return [f'unknown field "{each}"' for each in sorted(others)]


def decoded_object(
    value: Json, resource: ServedResource, *, is_merged: bool = False
) -> tuple[Json, list[str]]:
    """Decode an object of a kind; return it with messages about unknown members.

    The nulls of a merged object are values, and its integers wrap.

    Raises:
        DecodeError: the value is an object of another kind, or does not match its kind.
    """
    if fault := _type_fault(value):
        raise DecodeError(fault)
    kind = resource.kind
    stated, version = value.get("kind"), value.get("apiVersion")
    same = (version or kind.api_version) == kind.api_version
    if not same or (resource.definition is None and (stated or kind.kind) != kind.kind):
        _read_as_stated(value)
        raise _other_kind(stated, version, resource)
    item, unknown = _decoded(value, resource, is_merged=is_merged)
    word = kind.kind if resource.definition is None else stated or kind.kind
    head = {"kind": word, "apiVersion": kind.api_version}
    return {**head, **item, **head}, [f'unknown field "{path}"' for path in unknown]


def _read_as_stated(value: Json) -> None:
    """Refuse a value that does not even match its own kind."""
    group, _, version = str(value.get("apiVersion") or "").rpartition("/")
    name = kind_versions().get((group, version, value.get("kind", "")))
    if name is not None:
        decode(value, struct(name), Decoding())


def _decoded(value: Json, resource: ServedResource, *, is_merged: bool) -> tuple[Json, list[str]]:
    """Decode an object by its kind; return it with the paths of unknown members."""
    if resource.definition is not None:
        return read_custom(value, resource, keeps_nulls=is_merged)
    found = Decoding(wraps=is_merged)
    item = decode(value, resource.struct, found)
    _mark_reset(value, item)
    return item, found.unknown


def _mark_reset(value: Json, item: Json) -> None:
    """Keep an explicitly empty list of managers, which ends the tracking of fields."""
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") in ([], [{}]):
        item["metadata"]["managedFields"] = [{}]


def _version_of(api_version: Any, default: str) -> str:
    return str(api_version).rpartition("/")[2] if api_version else default


def _other_kind(stated: Any, version: Any, resource: ServedResource) -> OtherKindError:
    """Return the error about an object of another kind or version."""
    version = version or resource.kind.api_version
    group, _, last = str(version).rpartition("/")
    is_readable = _is_readable(group, last, stated)
    if stated == resource.kind.kind and (is_readable or resource.definition is not None):
        return OtherKindError()
    if not is_readable:
        return OtherKindError(no_kind(stated, version))
    wanted = f"{go_package(resource.kind)}.{resource.kind.kind}"
    return OtherKindError(f"converting ({last}.{stated}) to ({wanted}): unknown conversion")


_OLD_VERSIONS: Final = frozenset(
    {
        "v1alpha1", "v1alpha2", "v1alpha3", "v1beta1", "v1beta2", "v1beta3", "v2beta1", "v2beta2",
    }
)  # fmt: skip
"""Versions of some kinds that kube-apiserver can read without serving them."""


def _is_readable(group: str, version: str, kind: Any) -> bool:
    """Return whether kube-apiserver can read a kind in a version."""
    known = kind_versions()
    if (group, version, kind) in known:
        return True
    is_old = bool(group) and version in _OLD_VERSIONS
    return is_old and any((each[0], each[2]) == (group, kind) for each in known)
