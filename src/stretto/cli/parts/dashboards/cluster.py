"""The dashboard of an existing cluster, for ``stretto up --join``."""

from pathlib import Path

from stretto.base.errors import InputError
from stretto.base.tokens import new_token
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext
from stretto.cli.parts.dashboards.joined import joined_dashboard
from stretto.serving.sockets import LOOPBACK, listening, serve
from stretto.web.dashboard.guard import Access


def check_alone(kubeconfig: Path, given: list[str]) -> None:
    """Refuse options of a local cluster together with an existing cluster.

    Raises:
        InputError: such options are given.
    """
    if given:
        hint = f"remove {' and '.join(given)}"
        expected = "no options of a local cluster"
        raise InputError("--join", str(kubeconfig), expected, hint)


def serve_joined(common: CommandContext, kubeconfig: Path, profile: str, port: int) -> None:
    """Serve pages about a cluster, which the dashboard follows, until Ctrl-C.

    Raises:
        InputError: the kubeconfig or the profile is invalid, or the port is in use.
        UnreachableError: the server does not answer.
    """
    token = new_token()
    with (
        DeferredInterrupt() as held,
        listening(LOOPBACK, port, "--dashboard-port") as listener,
        joined_dashboard(common, kubeconfig, profile, Access(token=token)) as app,
    ):
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
        common.console.note(f"dashboard of cluster {kubeconfig}; Ctrl-C stops")
        common.console.data(address)
        serve(app, listener, held.check)
