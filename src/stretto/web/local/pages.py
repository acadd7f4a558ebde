"""The dashboard of a local cluster, beside its API."""

from stretto.base.tokens import new_token
from stretto.plane.plane import Plane
from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.dashboard.app import Access, dashboard_app
from stretto.web.local.serving import Site
from stretto.web.views.actions import StoreActions
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import Capability
from stretto.web.views.sources import PlaneSource


def dashboard_site(plane: Plane, port: int) -> tuple[Site, str]:
    """The pages about a scheduler that runs in the same event loop, and their address.

    Args:
        plane: the scheduler.
        port: the port; 0 takes a free one.

    Raises:
        InputError: the port is in use.
    """
    capability = Capability(live=True, writes=True, threaded=False)
    source = PlaneSource("local cluster", plane, capability)
    parts = DashboardParts(actions=StoreActions(plane.store))
    token = new_token()
    listener = listening(LOOPBACK, port)
    address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
    return Site(dashboard_app(source, parts, Access(token=token)), listener), address
