"""Checks and admission of pods with equal specs: each spec is read once.

The pods of a dump or of a generated file often differ in their names alone. An encoded pod is
divided before its spec; what follows is looked up as bytes, and the head is checked on its own.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from stretto.api.admission.request import JsonObject
from stretto.api.admission.schema import UnknownField, check_fields, check_type
from stretto.api.admission.selectors import has_label_keys
from stretto.api.codec import decode, parse_object, without_nulls
from stretto.api.kinds.table import TABLE
from stretto.api.validation import validate, validate_metadata
from stretto.api.wire.kinds import POD, Kind
from stretto.inputs.neutral.strict import inside

SPECS: Final = 10_000
"""Specs that are remembered; a full table is cleared."""
_SPEC: Final = b',"spec":'
"""The begin of the spec in an encoded object: texts before it have escaped quotes."""
_NO_SPEC: Final = _SPEC + b'{"containers":[]}}'
"""The end of an encoded pod whose metadata alone are read."""
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Members of an encoded pod before its spec."""
_ALONE: Final = (b'"resourceVersion"', b'"creationTimestamp"', b'"kubernetes.io/config.mirror"')
"""Metadata that admission reads together with the spec: of stored pods and of mirror pods."""


Admit = Callable[[JsonObject], JsonObject | None]
"""A function from a pod to its form in the cluster; ``None`` if it is refused."""


class UnknownFieldWarning(UserWarning):
    """A field of a manifest that its kind does not have, which is ignored."""


class FieldChecks:
    """Checks the fields of the objects of one input."""

    def __init__(self, *, lenient: bool) -> None:
        """Start without known specs; ``lenient`` warns of unknown fields instead of refusing."""
        self._lenient = lenient
        self._valid: set[bytes] = set()

    def check(self, kind: Kind, body: bytes, where: str) -> None:
        """Refuse an invalid object; unknown fields are refused or warned of.

        Raises:
            InputError: a value is invalid, or a field is unknown and warnings are not asked for.
        """
        head, _, spec = body.partition(_SPEC)
        known = _head_of(head) if kind is POD and spec in self._valid else None
        unknown: list[UnknownField] = []
        parsed = _parsed(body) if known is None else known
        title = _title(kind, parsed, where)
        check_fields(kind, parsed, title, unknown.append if self._lenient else None)
        self._warn(title, unknown)
        with inside(where):
            if known is None:
                validate(decode(kind, body))
            else:
                validate_metadata(decode(kind, head + _NO_SPEC))
        if kind is POD and known is None and not unknown:
            _remember(self._valid, spec)

    def check_names(self, kind: Kind, body: bytes, where: str) -> None:
        """Refuse unknown fields of an object that is not scheduled.

        Raises:
            InputError: a field is unknown or has another type.
        """
        if kind in TABLE:
            parsed = _parsed(body)
            check_fields(kind, parsed, _title(kind, parsed, where), None)

    def check_templates(self, kind: Kind, body: bytes, where: str) -> None:
        """Refuse or warn of unknown fields of the pod templates of a custom workload.

        Raises:
            InputError: a field is unknown and warnings are not asked for, or has another type.
        """
        unknown: list[UnknownField] = []
        parsed = _parsed(body)
        title = _title(kind, parsed, where)
        for path, template in _templates(parsed.get("spec"), "spec"):
            report = unknown.append if self._lenient else None
            check_type("PodTemplateSpec", template, title, report, path)
        self._warn(title, unknown)

    def _warn(self, title: str, unknown: Iterable[UnknownField]) -> None:
        for each in unknown:
            text = f"{title}: {each.path}: {each.sentence}"
            warnings.warn(text, UnknownFieldWarning, stacklevel=3)


def _templates(value: Any, path: str) -> Iterator[tuple[str, JsonObject]]:
    """The pod templates at any depth of a value, with their paths."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _templates(each, f"{path}[{index}]")
    elif isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield path, value
            return
        for name, each in value.items():
            yield from _templates(each, f"{path}.{name}")


def _remember(known: set[bytes], spec: bytes) -> None:
    if len(known) >= SPECS:
        known.clear()
    known.add(spec)


def _head_of(head: bytes) -> JsonObject | None:
    """The members of a pod before its spec; ``None`` if the head is not made of them alone."""
    try:
        found = msgspec.json.decode(head + b"}")
    except msgspec.DecodeError:
        return None  # a text of the metadata looks like the begin of a spec
    return without_nulls(found) if found.keys() == _HEAD else None


def _title(kind: Kind, parsed: JsonObject, where: str) -> str:
    """The name of an object in messages."""
    meta = parsed.get("metadata")
    named: dict[str, Any] = meta if isinstance(meta, dict) else {}
    name = named.get("name") or named.get("generateName") or ""
    return f"{where}: {kind.kind.lower()} {name}".rstrip()


class PodTemplateAdmission:
    """Admits encoded pods with few different specs; each spec is admitted once.

    A pod of a known spec gets its defaults as text. The result is the same, because no step of
    admission reads the metadata of a pod, except label keys of terms, LimitRanges, quotas, and the
    marks of stored pods and of mirror pods. In these cases every pod is admitted separately.
    """

    def __init__(self, *, apart: bool = False) -> None:
        """Start without known specs; ``apart`` if namespaces affect the result."""
        self._is_apart = apart
        self._known: dict[bytes, bytes] = {}

    def body(self, body: bytes, admit: Admit) -> bytes | None:
        """A pod in its form in the cluster; ``None`` if it is refused.

        Args:
            body: the encoded pod.
            admit: admits a pod whose spec is not known yet.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: the pod is refused, and refusals are not collected.
        """
        head, mark, spec = body.partition(_SPEC)
        alone = any(each in head for each in _ALONE)
        known = None if alone else self._known.get(spec)
        if known is not None:
            return head + mark + known
        found = admit(_parsed(body))
        if found is None:
            return None
        ready = msgspec.json.encode(found)
        new_head, _, new_spec = ready.partition(_SPEC)
        apart = alone or self._is_apart or has_label_keys(found["spec"])
        if new_head == head and not apart:
            if len(self._known) >= SPECS:
                self._known.clear()
            self._known[spec] = new_spec
        return ready


def _parsed(body: bytes) -> JsonObject:
    """An object without null members."""
    found: JsonObject = without_nulls(parse_object(body, "object"))
    return found
