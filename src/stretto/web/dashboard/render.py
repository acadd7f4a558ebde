"""Templates of the pages, and their formats."""

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from stretto.api.wire.quantity import amount
from stretto.base.clock import timestamp
from stretto.explain.words.amounts import bare_amount, format_count
from stretto.explain.words.durations import short_duration
from stretto.web.views.acting.contract import Actions

PAGES: Final = (
    ("/", "Nodes"),
    ("/pods", "Pods"),
    ("/queues", "Queues"),
    ("/units", "Units"),
    ("/shards", "Shards"),
    ("/offers", "Offers"),
    ("/clusters", "Clusters"),
    ("/decisions", "Decisions"),
    ("/studies", "Studies"),
    ("/plan", "Plan"),
    ("/defragment", "Defragment"),
)
"""Paths and titles of the pages in the navigation."""


_WALL: Final = 1e9
"""Seconds above which a time is from a wall clock (since 1970), not since the start of a run."""


class Renderer:
    """Renderer of templates for one source."""

    def __init__(
        self,
        title: str,
        pages: tuple[tuple[str, str], ...],
        base: str = "",
        actions: Actions | None = None,
    ) -> None:
        """Render the pages of one state.

        Args:
            title: name of the state.
            pages: paths and titles of the pages to which each page links.
            base: the common prefix of the paths.
            actions: the actions to which pages link; ``None`` for none.
        """
        self._environment = Environment(
            loader=PackageLoader("stretto.web.dashboard"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "count": format_count,
            "age": short_duration,
            "figure": _figure,
            "change": _change,
            "bare": _bare,
            "instant": _instant,
            "unit": _unit,
        }
        self._environment.globals |= {
            "state": title,
            "pages": pages,
            "base": base,
            "actions": actions,
        }

    def page(self, name: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """Return the response of a template."""
        text = self._environment.get_template(f"{name}.html").render(values)
        return HTMLResponse(text, status)


def _bare(quantity: str, resource: str) -> str:
    """Format an amount of a resource in Kubernetes notation, in common units."""
    return bare_amount(resource, amount(resource, quantity, resource))


def _instant(seconds: float) -> str:
    """Format a time: date and time in UTC for a wall clock, in seconds for the clock of a run.

    >>> _instant(1_790_000_000.5), _instant(2.5)
    ('2026-09-21 14:13:20 UTC', '2.50 s')
    """
    if seconds < _WALL:
        return f"{seconds:,.2f} s"
    return f"{timestamp(seconds)[:19].replace('T', ' ')} UTC"


def _unit(key: str) -> tuple[str, str]:
    """Return the kind and ``namespace/name`` of the object that makes pods a unit, from its key.

    >>> _unit("PodGroupUnit/ml/train"), _unit("OwnerUnit/Job/ml/train")
    (('PodGroup', 'ml/train'), ('Job', 'ml/train'))
    """
    kind, _, name = key.removeprefix("OwnerUnit/").partition("/")
    return kind.removesuffix("Unit"), name


def _figure(value: float | None) -> str:
    """Format a number with at most two decimals; a dash if there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _change(value: float) -> str:
    """Format a difference with its sign."""
    return f"{'+' if value > 0 else '-'}{_figure(abs(value))}"
