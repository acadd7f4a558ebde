"""The dashboard of a local cluster."""

from dataclasses import dataclass

from stretto.base.tokens import new_token
from stretto.plane.plane import Plane
from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.local.serving import ServedApplication
from stretto.web.views.actions import StoreActions
from stretto.web.views.parts import READ_ONLY, DashboardParts
from stretto.web.views.sight import Capability
from stretto.web.views.sources import PlaneSource


@dataclass(frozen=True)
class LocalPages:
    """Where the dashboard of a local cluster is served, and what it offers besides reading."""

    #: Port; 0 takes a free one.
    port: int = 0
    #: Plans on copies of the cluster; actions are always offered.
    parts: DashboardParts = READ_ONLY


def dashboard_application(plane: Plane, pages: LocalPages) -> tuple[ServedApplication, str]:
    """The pages about a scheduler that runs in the same event loop, and their address.

    Args:
        plane: the scheduler.
        pages: where they are served, and what they offer.

    Raises:
        InputError: the port is in use.
    """
    capability = Capability(live=True, writes=True, threaded=False)
    source = PlaneSource("local cluster", plane, capability)
    parts = pages.parts._replace(
        actions=StoreActions(plane.store, "the administrator of this cluster")
    )
    token = new_token()
    listener = listening(LOOPBACK, pages.port)
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
    return ServedApplication(dashboard_app(source, parts, Access(token=token)), listener), address
