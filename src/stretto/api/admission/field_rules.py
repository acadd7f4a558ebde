"""Field validation of the API server, for objects of manifests and scenarios.

The image of a container may be missing: no decision reads it, and inputs for planning often omit
it. Privileged containers are allowed, as in clusters of the usual installers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.admission.defaults import default_account
from stretto.api.admission.request import JsonObject
from stretto.api.checks.fields.errors import FieldError
from stretto.api.checks.kinds.pods.security import allowing_privileged
from stretto.api.checks.kinds.table import RULES, check_kind
from stretto.api.codec import decode as decode_object
from stretto.api.codec import parse_object
from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct_of_kind
from stretto.api.validation import validate
from stretto.api.wire.kinds import POD, Kind
from stretto.base.errors import InputError, with_hint

_TYPE: Final = ("kind", "apiVersion")
_DUPLICATE: Final = "FieldValueDuplicate"
_REMEDIES: Final[Mapping[str, str]] = {
    "operator must be Exists when `key` is empty": (
        "without a key the toleration matches every taint: write operator: Exists"
    ),
    "value must be empty when `operator` is 'Exists'": "use Equal, or remove the value",
    "effect must be 'NoExecute' when `tolerationSeconds` is set": (
        "only the effect NoExecute evicts pods after a delay"
    ),
    "must be a standard resource type or fully qualified": (
        "an extended resource has a domain, such as nvidia.com/gpu"
    ),
    "Limit must be set for non overcommitable resources": "set the limit to the request",
    "must be greater than or equal to 0": "remove the minus sign",
    "must match `containerPort` when `hostNetwork` is true": (
        "with hostNetwork the two ports are equal"
    ),
    "can only use minDomains if whenUnsatisfiable=DoNotSchedule": "remove minDomains",
    "must have at least one node selector term": (
        "no node matches a selector without terms: remove the selector"
    ),
    "cannot be set until all schedulingGates have been cleared": (
        "remove spec.nodeName or spec.schedulingGates"
    ),
}
"""Remedy of an error; the key is a part of the API server's message."""


class RefusedFieldsError(InputError):
    """The API server refuses fields; the message contains the text of the server."""

    def __init__(self, what: str, errors: Sequence[FieldError]) -> None:
        super().__init__(what, None, "valid fields")
        self.args = (what, tuple(errors))
        #: The refused fields.
        self.errors = tuple(errors)

    def __str__(self) -> str:
        texts = list(dict.fromkeys(f"{each.field}: {each.message}" for each in self.errors))
        joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return with_hint(f"{self.where} is invalid: {joined}", _remedy(self.errors))

    def inside(self, place: str) -> "RefusedFieldsError":
        """Return the same refusal with the place of the object before its name."""
        return RefusedFieldsError(f"{place}: {self.where}", self.errors)


def _remedy(errors: Sequence[FieldError]) -> str:
    """Return the remedy of the first error that has one; empty if none has."""
    for error in errors:
        for words, remedy in _REMEDIES.items():
            if words in error.message:
                return remedy
        if error.reason == _DUPLICATE:
            return "rename or remove one of the two"
    return ""


def check_new(kind: Kind, body: bytes) -> None:
    """Check a new object by the rules of the API server and by those of the scheduler.

    A pod has the service account that admission sets.

    Raises:
        InputError: a type or a value is wrong.
    """
    item = decode_object(kind, body)
    fields = parse_object(body, kind.kind.lower())
    if kind == POD:
        default_account(fields["spec"])
    check_field_rules(kind, fields)
    validate(item)


def check_field_rules(kind: Kind, body: JsonObject) -> None:
    """Check the fields of a new object as the API server does.

    Raises:
        RefusedFieldsError: the server refuses fields.
    """
    key = (kind.group, kind.kind)
    struct = struct_of_kind(kind.group, kind.version, kind.kind)
    if struct is None or key not in RULES:
        return
    inner = {name: each for name, each in body.items() if name not in _TYPE}
    name = (body.get("metadata") or {}).get("name", "")
    word = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    try:
        item = decode(inner, struct, Decoding())
    except DecodeError:
        return  # the schema and the codec report such a value with its path
    set_defaults(item, struct)
    refused = allowing_privileged(check_kind(key, item, None))
    errors = [each for each in refused if not _is_left_out(each)]
    if errors:
        raise RefusedFieldsError(f'{word} "{name}"', errors)


def _is_left_out(error: FieldError) -> bool:
    """Return whether the error is about a missing image."""
    return error.reason == "FieldValueRequired" and error.field.endswith("].image")
