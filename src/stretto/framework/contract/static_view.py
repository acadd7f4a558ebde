"""The view of a rule with the scope STATIC: nodes, without anything that claims change.

The answer of a static rule is cached until the node changes. A static rule that reads what claims
change would be right once and wrong afterwards, so reading such a column is an error.
"""

from collections.abc import Sized
from typing import Any, Final, cast

from stretto.base.errors import StrettoError
from stretto.framework.contract.rule import View

CLAIMED: Final = {
    "columns": frozenset({
        "free", "version", "ports", "device_free", "census", "log", "log_state", "head",
    }),
    "columns.ledger": frozenset({
        "used", "version", "ports", "head", "changes_since", "promises",
    }),
    "columns.ledger.devices": frozenset({"free", "census"}),
    "nodes": frozenset({"topology"}),
    "look": frozenset(),
}  # fmt: skip
"""Names that claims change, by their place in a view; every name of ``look`` is one."""
_INNER: Final = {
    "columns": {"ledger": "columns.ledger"},
    "columns.ledger": {"devices": "columns.ledger.devices"},
}


class ClaimedColumnError(StrettoError):
    """A static rule read what claims change."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        #: The column, as the rule reaches it from its view.
        self.column = column

    def __str__(self) -> str:
        return (
            f"reads {self.column}, which claims change, although its SCOPE is Scope.STATIC; "
            "declare Scope.SLOT, or Scope.DOMAIN if it depends on other nodes"
        )


class StaticPart:
    """A part of a view that refuses the names that claims change."""

    def __init__(self, part: object, place: str) -> None:
        """Guard a part of a view; ``place`` is its place in the view."""
        self._part = part
        self._place = place

    def __len__(self) -> int:
        """Number of items of the part, which claims do not change."""
        return len(cast(Sized, self._part))

    def __getattr__(self, name: str) -> Any:
        """The name of the part.

        Raises:
            ClaimedColumnError: claims change it.
        """
        place = self._place
        if place == "look" or name in CLAIMED[place]:
            raise ClaimedColumnError(f"{place}.{name}")
        found = getattr(self._part, name)
        inner = _INNER.get(place, {}).get(name)
        return found if inner is None else StaticPart(found, inner)


def static_view(view: View) -> View:
    """The view that a static rule gets; a view that is static already stays."""
    if isinstance(view.columns, StaticPart):
        return view
    return view._replace(
        columns=cast(Any, StaticPart(view.columns, "columns")),
        nodes=cast(Any, StaticPart(view.nodes, "nodes")),
        look=cast(Any, StaticPart(view.look, "look")),
    )


def whole_view(view: View) -> View:
    """The view behind a static one; any other view itself."""
    columns: Any = view.columns
    if not isinstance(columns, StaticPart):
        return view
    nodes, look = cast(StaticPart, view.nodes), cast(StaticPart, view.look)
    parts = [vars(each)["_part"] for each in (columns, nodes, look)]
    return view._replace(columns=parts[0], nodes=parts[1], look=parts[2])
