"""Field selectors: the supported fields of each kind, and the errors of all others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.web.api.failures import bad_request
from stretto.web.api.resources import ServedResource

Json = dict[str, Any]

_NAME: Final = "metadata.name"
_NAMESPACE: Final = "metadata.namespace"
_POD: Final = (
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
    "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
    "status.nominatedNodeName",
)  # fmt: skip
_EVENT: Final = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
    "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
    "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
)  # fmt: skip
_EVENT_V1: Final = (
    "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
    "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reason",
    "reportingController", "type",
)  # fmt: skip

FIELDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Pod"): _POD,
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT_V1,
    ("", "Node"): ("spec.unschedulable",),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "ReplicationController"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("resource.k8s.io", "ResourceSlice"): ("spec.driver", "spec.nodeName"),
}
"""Fields by kind, besides name and namespace."""


@dataclass(frozen=True)
class FieldTerm:
    """One comparison."""

    #: The field.
    field: str
    #: True if the value must differ.
    negated: bool
    #: The value.
    value: str


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Parse the comparisons of a field selector.

    Raises:
        ApiError: it is malformed.
    """
    terms = []
    for part in sorted(_split(text)):  # the first malformed part in this order is named
        if not part:
            continue
        term = _term(part)
        if term is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        if not term.field and not term.value:
            continue
        terms.append(term)
    return tuple(terms)


def check_fields(terms: Iterable[FieldTerm], resource: ServedResource) -> None:
    """Refuse a field that the kind does not support.

    Raises:
        ApiError: the kind does not support a field.
    """
    for each in terms:
        _check(each.field, resource)


def _split(text: str) -> list[str]:
    """Split a text at commas that no backslash escapes."""
    parts, current, escaped = [], "", False
    for each in text:
        if escaped:
            current, escaped = current + "\\" + each, False
        elif each == "\\":
            escaped = True
        elif each == ",":
            parts.append(current)
            current = ""
        else:
            current += each
    return [*parts, current + "\\" * escaped]


def _term(part: str) -> FieldTerm | None:
    for index in range(len(part)):
        for sign in ("!=", "==", "="):
            if part.startswith(sign, index):
                value = _unescaped(part[index + len(sign) :])
                return FieldTerm(part[:index], sign == "!=", value)
    return None


def _unescaped(value: str) -> str:
    """Unescape a value in which a backslash escapes a comma, an equals sign or a backslash.

    Raises:
        ApiError: another character follows a backslash, or none does, or no backslash precedes one.
    """
    found, rest = "", iter(value)
    for each in rest:
        if each in ",=":
            problem = f"unescaped character in value: {ord(each)}"
            raise bad_request(f"invalid field selector: {problem}")
        if each == "\\":
            each = next(rest, "")
            if not each or each not in "\\,=":
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{each}")
        found += each
    return found


def _check(field: str, resource: ServedResource) -> None:
    if field == _NAME or field in FIELDS.get(resource.key, ()):
        return
    if field == _NAMESPACE and resource.key not in _WITHOUT_NAMESPACE:
        return
    if resource.definition is not None:
        if field in resource.version.get("selectable", ()):
            return
        raise bad_request(f"field label not supported: {field}")
    if resource.key == ("batch", "Job"):
        raise bad_request(f'field label "{field}" not supported for Job')
    if resource.key == _SLICE:
        version = f"{resource.kind.api_version}, Kind={resource.kind.kind}"
        raise bad_request(f"field label not supported for {version}: {field}")
    if resource.key in FIELDS:
        raise bad_request(f"field label not supported: {field}")
    known = 'only "metadata.name", "metadata.namespace"'
    raise bad_request(f'"{field}" is not a known field selector: {known}')


_SLICE: Final = ("resource.k8s.io", "ResourceSlice")
_WITHOUT_NAMESPACE: Final = frozenset(
    {("", "Node"), ("", "Namespace"), ("certificates.k8s.io", "CertificateSigningRequest"), _SLICE}
)
"""Cluster kinds with fields of their own, which do not support the namespace."""


class FieldFilter:
    """Comparisons combined by field, so that many of them take no more time than one of each."""

    def __init__(self, terms: Iterable[FieldTerm]) -> None:
        """Combine the comparisons of a selector."""
        self._wanted: dict[str, tuple[set[str], set[str]]] = {}
        for each in terms:
            required, excluded = self._wanted.setdefault(each.field, (set(), set()))
            (excluded if each.negated else required).add(each.value)

    def matches(self, item: Json) -> bool:
        """Return whether an object is selected."""
        for field, (required, excluded) in self._wanted.items():
            value = field_text(item, field)
            if value in excluded or not required <= {value}:
                return False
        return True


def field_text(item: Json, field: str) -> str:
    """Return the value of a field as text."""
    if field == "source":
        source = item.get("source") or {}
        return str(source.get("component") or item.get("reportingComponent") or "")
    if field == "status.successful":
        field = "status.succeeded"
    head, dot, rest = field.partition(".")
    if head in _STORED:
        field = f"{_STORED[head]}{dot}{rest}"
    value: Any = item
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _EMPTY.get(field, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_STORED: Final = {"regarding": "involvedObject", "reportingController": "reportingComponent"}
"""Members of events of ``events.k8s.io``, and their names in the stored object."""
_EMPTY: Final = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.succeeded": "0",
}
"""Texts of absent fields."""
