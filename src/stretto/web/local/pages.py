"""The dashboard of a local cluster, beside its API."""

from typing import Final

from starlette.routing import BaseRoute, Mount

from stretto.plane.plane import Plane
from stretto.web.dashboard.app import Access, dashboard_app
from stretto.web.views.actions import StoreActions
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import Capability
from stretto.web.views.sources import PlaneSource

BASE: Final = "/dashboard"
"""The path of the dashboard."""


def dashboard_routes(plane: Plane, token: str) -> list[BaseRoute]:
    """The pages about a scheduler that runs in the same event loop.

    Args:
        plane: the scheduler.
        token: what a browser must present once.
    """
    capability = Capability(live=True, writes=True, threaded=False)
    source = PlaneSource("local cluster", plane, capability)
    parts = DashboardParts(actions=StoreActions(plane.store))
    return [Mount(BASE, dashboard_app(source, parts, Access(token=token, base=BASE)))]
