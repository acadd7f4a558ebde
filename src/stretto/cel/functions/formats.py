"""Named formats: the values of ``format.dns1123Label()`` and of ``format.named()``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.checks.custom.formats import FORMATS as SCHEMA_FORMATS
from stretto.api.checks.fields.texts import (
    dns_1035,
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)
from stretto.cel.functions.urls import url_problem
from stretto.cel.language.types import CelType, struct
from stretto.cel.running.values import CelOpaque, CelOptional

_Check = Callable[[str], Sequence[str]]
_FORMAT: Final = struct("kubernetes.NamedFormat")


@dataclass(frozen=True)
class FormatValue(CelOpaque):
    """A format of texts."""

    #: Name of the format.
    name: str
    #: Length of a pattern as complex as the format; it determines the cost of a check.
    pattern_size: int
    kind: CelType = _FORMAT


def _prefix(check: _Check) -> _Check:
    """Return the check of a prefix of names, which may end with a dash."""
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") and len(text) > 1 else text)


def _schema_format(name: str, problem: str) -> _Check:
    return lambda text: [] if SCHEMA_FORMATS[name](text) else [problem]


def _uri(text: str) -> list[str]:
    problem = url_problem(text)
    return [problem] if problem else []


_CHECKS: Final[Mapping[str, tuple[int, _Check]]] = {
    "dns1123Label": (30, dns_label),
    "dns1123Subdomain": (60, dns_subdomain),
    "dns1035Label": (30, dns_1035),
    "qualifiedName": (60, qualified_name),
    "dns1123LabelPrefix": (30, _prefix(dns_label)),
    "dns1123SubdomainPrefix": (60, _prefix(dns_subdomain)),
    "dns1035LabelPrefix": (30, _prefix(dns_1035)),
    "labelValue": (40, label_value),
    "uri": (1103, _uri),
    "uuid": (70, _schema_format("uuid", "does not match the UUID format")),
    "byte": (84, _schema_format("byte", "invalid base64")),
    "date": (71, _schema_format("date", "invalid date")),
    "datetime": (71, _schema_format("date-time", "invalid datetime")),
}
"""Length of an equivalent pattern, and check, by name."""
_VALUES: Final = {name: FormatValue(name, size) for name, (size, _) in _CHECKS.items()}


def _named(name: str) -> CelOptional:
    return CelOptional((_VALUES[name],)) if name in _VALUES else CelOptional()


def _problems(value: FormatValue, text: str) -> CelOptional:
    found = list(_CHECKS[value.name][1](text))
    return CelOptional((found,)) if found else CelOptional()


def _constant(value: FormatValue) -> Callable[[], FormatValue]:
    return lambda: value


FORMATS: Final[Mapping[str, Any]] = {
    "format.named": _named,
    "validate": _problems,
    **{f"format.{name}": _constant(value) for name, value in _VALUES.items()},
}
"""Functions of formats by name."""
