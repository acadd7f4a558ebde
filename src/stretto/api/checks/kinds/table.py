"""The rules of every kind in one table."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors

Json = dict[str, Any]

KindRule = Callable[[Json, Json | None], Errors]
"""The refused fields of a new or changed object, given the old one."""

RULES: Final[Mapping[tuple[str, str], KindRule]] = {}
"""Rules by group and kind."""


def check_kind(key: tuple[str, str], item: Json, old: Json | None) -> Errors:
    """The refused fields of an object of a kind."""
    rule = RULES.get(key)
    return [] if rule is None else rule(item, old)
