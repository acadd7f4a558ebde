"""The pages about an existing cluster.

Their actions have the permissions of the kubeconfig's user.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette

from stretto.base.clock import WallClock
from stretto.cli.options import CommandContext
from stretto.cli.sources.previews import preview_parts
from stretto.cli.sources.states import StateOptions, opened
from stretto.cli.sources.views import view_source
from stretto.state.cluster.config import SCHEDULER_NAME
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.views.acting.cluster import ClusterUser
from stretto.web.views.acting.writes import StoreActions

_NAMES: Final = ("default-scheduler", "stretto-scheduler", SCHEDULER_NAME)
"""Scheduler names whose pods are explained: the scheduler of the cluster is unknown."""


@contextmanager
def joined_dashboard(
    common: CommandContext, kubeconfig: Path, profile: str, access: Access
) -> Iterator[Starlette]:
    """Create the pages about a cluster, which is followed for the duration of the block.

    The actions have the permissions of the kubeconfig's user.

    Args:
        common: the command, for notes.
        kubeconfig: the cluster and the user.
        profile: profile of the scheduler; empty for the default.
        access: permissions to open the pages.

    Raises:
        InputError: the kubeconfig or the profile is invalid.
        UnreachableError: the server does not answer.
    """
    opts = StateOptions(kubeconfig=kubeconfig, profile=profile, scheduler_name=_NAMES)
    with view_source(common, opts, ()) as source, opened(opts) as cluster:
        user = ClusterUser(cluster.store, cluster.namespace, WallClock())
        parts = preview_parts(common, opts, ())
        parts = parts._replace(actions=StoreActions(cluster.store, user))
        yield dashboard_app(source, parts, access)
