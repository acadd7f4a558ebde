"""The dashboard alone over a cluster: what ``stretto up --join`` serves."""

from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.base.tokens import new_token
from stretto.cli.interrupts import DeferredInterrupt
from stretto.cli.options import CommandContext
from stretto.cli.sources.previews import preview_parts
from stretto.cli.sources.states import StateOptions
from stretto.cli.sources.views import view_source
from stretto.serving.sockets import LOOPBACK, listening, serve
from stretto.state.cluster.config import SCHEDULER_NAME
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access

_NAMES: Final = ("default-scheduler", "stretto-scheduler", SCHEDULER_NAME)
"""Scheduler names whose pods are explained: the dashboard does not know which scheduler runs."""


def check_alone(kubeconfig: Path, given: list[str]) -> None:
    """Refuse options of a local cluster together with a cluster that exists.

    Raises:
        InputError: some are given.
    """
    if given:
        hint = f"remove {' and '.join(given)}"
        expected = "no options of a local cluster"
        raise InputError("--join", str(kubeconfig), expected, hint)


def serve_joined(common: CommandContext, kubeconfig: Path, profile: str, port: int) -> None:
    """Serve pages about a cluster, which is followed, until Ctrl-C; nothing is written.

    Raises:
        InputError: the kubeconfig or the profile is invalid, or the port is in use.
        UnreachableError: the server does not answer.
    """
    opts = StateOptions(kubeconfig=kubeconfig, profile=profile, scheduler_name=_NAMES)
    parts, token = preview_parts(common, opts, ()), new_token()
    with (
        DeferredInterrupt() as held,
        listening(LOOPBACK, port) as listener,
        view_source(common, opts, ()) as source,
    ):
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/?token={token}"
        common.console.note(f"dashboard of {source.title}; Ctrl-C stops")
        common.console.data(address)
        serve(dashboard_app(source, parts, Access(token=token)), listener, held.check)
