"""The dashboard of a local cluster."""

from dataclasses import dataclass

from stretto.base.tokens import new_token
from stretto.plane.plane import Plane
from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.api.internal import ApiClient
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.local.administrator import local_actions
from stretto.web.local.serving import ServedApplication
from stretto.web.views.parts import READ_ONLY, DashboardParts
from stretto.web.views.sources import PlaneSource
from stretto.web.views.state import Capability


@dataclass(frozen=True)
class LocalPages:
    """Port of the dashboard of a local cluster, and its parts besides reading."""

    #: Port; 0 selects a free port.
    port: int = 0
    #: Optional parts, which plan on copies of the cluster; actions are always offered.
    parts: DashboardParts = READ_ONLY
    #: Token that a browser presents once; empty for a new one.
    token: str = ""


def dashboard_application(
    plane: Plane, client: ApiClient, pages: LocalPages
) -> tuple[ServedApplication, str]:
    """Return the pages about a scheduler in the same event loop, and their address.

    Args:
        plane: the scheduler.
        client: writes to its cluster.
        pages: their address, and their parts.

    Raises:
        InputError: the port is in use.
    """
    source = PlaneSource("local cluster", plane, Capability(live=True, threaded=False))
    parts = pages.parts._replace(actions=local_actions(client))
    token = pages.token or new_token()
    listener = listening(LOOPBACK, pages.port, "--dashboard-port")
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
    return ServedApplication(dashboard_app(source, parts, Access(token=token)), listener), address
