"""Reading a live cluster: ``--cluster``, ``--kubeconfig`` and ``--context`` of inspection commands.

These commands only read, so they are safe next to a running scheduler. They need the list
permissions of ``deploy/rbac-reader.yaml``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.plane.copy import StoreState
    from stretto.stores.store import Store

PATIENCE: Final = 6.0
"""Seconds for which a failing read is retried; short, because a person waits for the answer."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of a command that can read a cluster."""

    #: Whether the command accepts a profile for any state, not only for a cluster.
    tries_profiles: ClassVar[bool] = False
    #: Whether to read the cluster that kubectl would use.
    cluster: bool = False
    #: Kubeconfig of the cluster; ``None`` for kubectl's default.
    kubeconfig: Path | None = None
    #: Context of the kubeconfig; empty for the current one.
    context: str = ""
    #: ``schedulerName`` values of the cluster's scheduler; empty for the profile's.
    scheduler_name: tuple[str, ...] = ()
    #: Profile of the cluster's scheduler; empty for the default.
    profile: str = ""

    @property
    def reads_cluster(self) -> bool:
        """Whether to read a cluster instead of a run or a file."""
        return self.cluster or self.kubeconfig is not None or bool(self.context)

    def check(self, name: str, value: str) -> None:
        """Refuse a second state next to the cluster, and cluster options without a cluster.

        Args:
            name: option or argument that names the other state.
            value: the other state; empty for none.

        Raises:
            InputError: the options conflict.
        """
        if self.reads_cluster and value:
            raise InputError(name, value, "no other state next to a cluster", "remove one of them")
        dependent = {"--scheduler-name": ", ".join(self.scheduler_name)}
        if not self.tries_profiles:
            dependent["--profile"] = self.profile
        for option, given in dependent.items():
            if given and not self.reads_cluster:
                hint = "add --cluster, --kubeconfig or --context"
                raise InputError(option, given, "a cluster to read", hint)


_OPTIONS: Final = (
    click.option("--cluster", is_flag=True, help="Read the cluster that kubectl would use."),
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="Read the cluster of this kubeconfig.",
    ),
    click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
    click.option(
        "--scheduler-name",
        multiple=True,
        metavar="NAME",
        help="schedulerName of the cluster's scheduler; may be repeated [the profile's].",
    ),
)
PROFILE: Final = click.option(
    "--profile", default="", metavar="NAME|FILE", help="Profile of the cluster's scheduler."
)
NAMESPACE: Final = click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Namespace of POD if it names none."
)


def cluster_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that can read a cluster, except --profile."""
    for each in reversed(_OPTIONS):
        body = each(body)
    return body


def named(pod: str, namespace: str) -> str:
    """Add a namespace to a pod's name unless it has one."""
    return f"{namespace}/{pod}" if namespace and "/" not in pod else pod


class OpenedCluster(NamedTuple):
    """A cluster that is being read."""

    #: Its API server.
    store: "Store"
    #: Its name as text, such as ``cluster prod``.
    title: str
    #: The default namespace.
    namespace: str


class ClusterContents(NamedTuple):
    """Contents of a cluster."""

    #: Its objects, with the rules of its scheduler.
    state: "StoreState"
    #: The default namespace.
    namespace: str


@contextmanager
def opened(opts: ClusterOptions) -> Iterator[OpenedCluster]:
    """Open the cluster for the duration of the block.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.cli.stores import cluster_store

    store, namespace = cluster_store(opts.kubeconfig, opts.context, patience=PATIENCE)
    try:
        named = opts.context or (str(opts.kubeconfig) if opts.kubeconfig else "")
        yield OpenedCluster(store, f"cluster {named}".strip(), namespace)
    finally:
        store.close()


def state_in(
    common: CommandContext, opts: ClusterOptions, shards: int = 1, plugins: tuple[Path, ...] = ()
) -> ClusterContents:
    """Read the cluster's objects, with the rules of its scheduler.

    Raises:
        InputError: the kubeconfig or the profile is invalid.
        NotAllowedError: pods or nodes must not be listed.
        UnreachableError: the server does not answer.
    """
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profile
    from stretto.plane.copy import PlaneSettings, StoreState
    from stretto.sim.history.clusters import listed
    from stretto.sim.options import chosen_source

    source = chosen_source("default", profile=opts.profile, plugins=plugins)
    own = load_profile(source, known_rules(plugins)).scheduler_names
    names = frozenset(opts.scheduler_name or own)
    with opened(opts) as cluster:
        found, namespace = listed(cluster.store), cluster.namespace
    if found.hidden:
        common.console.note(f"left out (no permission to list): {', '.join(found.hidden)}")
    settings = PlaneSettings(shards, common.seed, names)
    now = common.console.clock.now()
    return ClusterContents(
        StoreState(cluster.title, found.records, source, settings, now), namespace
    )
