"""Actions that only remember what was asked."""

from starlette.applications import Starlette

from stretto.web.dashboard.app import dashboard_app
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import Capability
from stretto.web.views.sources import PlaneSource
from tests.unit.web.dashboards import small_cluster


class RecordedActions:
    """Remembers actions instead of doing them."""

    actor = "a test"

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

    def cordon(self, node: str, *, cordoned: bool) -> None:
        self.done.append(("cordon" if cordoned else "uncordon", node))

    def evict(self, pod: str) -> None:
        self.done.append(("evict", pod))


def acting_dashboard(actions: RecordedActions) -> Starlette:
    """A dashboard that may change objects."""
    source = PlaneSource(
        "a small cluster", small_cluster().plane, Capability(live=True, writes=True)
    )
    return dashboard_app(source, DashboardParts(actions=actions))
