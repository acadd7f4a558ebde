"""Field validation of the API server, for objects of manifests and scenarios.

The image of a container may be missing: no decision reads it, and inputs for planning often omit
it. Privileged containers are allowed, as in clusters of the usual installers.
"""

from collections.abc import Sequence
from typing import Final

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.admission.request import AdmissionRequest, JsonObject
from stretto.api.checks.fields.errors import FieldError
from stretto.api.checks.kinds.pods.security import allowing_privileged
from stretto.api.checks.kinds.table import RULES, check_kind
from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct_of_kind
from stretto.base.errors import InputError

_TYPE: Final = ("kind", "apiVersion")


class RefusedFieldsError(InputError):
    """Fields that the API server refuses; the message has its words."""

    def __init__(self, what: str, errors: Sequence[FieldError]) -> None:
        super().__init__(what, None, "valid fields")
        self.args = (what, tuple(errors))
        #: The refused fields.
        self.errors = tuple(errors)

    def __str__(self) -> str:
        texts = list(dict.fromkeys(f"{each.field}: {each.message}" for each in self.errors))
        joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return f"{self.where} is invalid: {joined}"

    def inside(self, place: str) -> "RefusedFieldsError":
        """Return the same refusal with the place of the object before its name."""
        return RefusedFieldsError(f"{place}: {self.where}", self.errors)


def check_field_rules(request: AdmissionRequest, body: JsonObject) -> None:
    """Check the fields of a new object as the API server does.

    Raises:
        RefusedFieldsError: the server refuses fields.
    """
    kind = request.kind
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
