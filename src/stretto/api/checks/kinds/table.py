"""The rules of every kind in one table: for the object, and for writes of its subresources."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.api.checks.fields.errors import Errors
from stretto.api.checks.fields.shapes import KindRule, PartRule
from stretto.api.checks.kinds.cluster.table import CLUSTER_PARTS, CLUSTER_RULES
from stretto.api.checks.kinds.core.table import CORE_PARTS, CORE_RULES
from stretto.api.checks.kinds.extension.table import EXTENSION_PARTS, EXTENSION_RULES
from stretto.api.checks.kinds.workloads.table import WORKLOADS_PARTS, WORKLOADS_RULES

Json = dict[str, Any]

RULES: Final[Mapping[tuple[str, str], KindRule]] = {
    **CORE_RULES,
    **WORKLOADS_RULES,
    **CLUSTER_RULES,
    **EXTENSION_RULES,
}
"""Rules by group and kind."""

PARTS: Final[Mapping[tuple[str, str, str], PartRule]] = {
    **CORE_PARTS,
    **WORKLOADS_PARTS,
    **CLUSTER_PARTS,
    **EXTENSION_PARTS,
}
"""Rules of subresources by group, kind and name; other subresources have none."""
_WHOLE: Final = ("", "scale")
"""Subresources after whose write the rules of the object apply."""


def check_kind(key: tuple[str, str], item: Json, old: Json | None, part: str = "") -> Errors:
    """Return the refused fields of an object of a kind.

    Args:
        key: group and kind.
        item: the object.
        old: the stored object; ``None`` for a new one.
        part: the subresource that is written; empty for the object itself.
    """
    if part in _WHOLE:
        rule = RULES.get(key)
        return [] if rule is None else rule(item, old)
    inner = PARTS.get((*key, part))
    return [] if inner is None or old is None else inner(item, old)
