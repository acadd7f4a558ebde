"""Verbs that look, pointed at a living cluster: ``--cluster``, ``--kubeconfig``, ``--context``.

Only reads go out, so they may be asked beside a scheduler that runs, by anybody who may list what
``deploy/rbac-reader.yaml`` names.
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
    from stretto.sim.history.sandbox import SandboxState
    from stretto.stores.store import Store

PATIENCE: Final = 6.0
"""Seconds that a read is tried again: somebody waits for the answer."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of a verb that may look at a cluster."""

    #: Whether the verb tries other profiles than a state's own, on any state.
    tries_profiles: ClassVar[bool] = False
    #: Whether a cluster is meant, by kubectl's own rules for which.
    cluster: bool = False
    #: Its kubeconfig; ``None`` takes what kubectl would take.
    kubeconfig: Path | None = None
    #: Context of the kubeconfig; empty for its current one.
    context: str = ""
    #: Names that the cluster's scheduler answers to; empty takes the profile's.
    scheduler_name: tuple[str, ...] = ()
    #: The profile that the cluster's scheduler runs with; empty for the default.
    profile: str = ""

    @property
    def reads_cluster(self) -> bool:
        """Whether a cluster is looked at, and no run and no file."""
        return self.cluster or self.kubeconfig is not None or bool(self.context)

    def check(self, name: str, value: str) -> None:
        """Say no where another state is named beside the cluster, or its names without it.

        Args:
            name: how the other state is named.
            value: the other state; empty for none.

        Raises:
            InputError: it is so.
        """
        if self.reads_cluster and value:
            raise InputError(
                name, value, "no other state beside a cluster", "leave one of them out"
            )
        told = {"--scheduler-name": ", ".join(self.scheduler_name)}
        if not self.tries_profiles:
            told["--profile"] = self.profile
        for option, given in told.items():
            if given and not self.reads_cluster:
                hint = "add --cluster, --kubeconfig or --context"
                raise InputError(option, given, "a cluster beside it", hint)


_OPTIONS: Final = (
    click.option("--cluster", is_flag=True, help="Look at the cluster that kubectl would take."),
    click.option(
        "--kubeconfig", type=options.INPUT_FILE, metavar="FILE", help="Look at this cluster."
    ),
    click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
    click.option(
        "--scheduler-name",
        multiple=True,
        metavar="NAME",
        help="Name that the cluster's scheduler answers to [the profile's].",
    ),
)
PROFILE: Final = click.option(
    "--profile", default="", metavar="NAME|FILE", help="Profile of the cluster's scheduler."
)
NAMESPACE: Final = click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Namespace of POD, where it names none."
)


def cluster_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a verb that may look at a cluster; its profile's is apart."""
    for each in reversed(_OPTIONS):
        body = each(body)
    return body


def named(pod: str, namespace: str) -> str:
    """A pod with the namespace that stands beside it, unless it names its own."""
    return f"{namespace}/{pod}" if namespace and "/" not in pod else pod


class OpenedCluster(NamedTuple):
    """A cluster that is looked at."""

    #: Its API server.
    store: "Store"
    #: In words, such as ``cluster prod``.
    title: str
    #: The namespace that is meant where none is named.
    namespace: str


class ClusterContents(NamedTuple):
    """What was found in a cluster."""

    #: What it holds, with the rules that its scheduler runs with.
    state: "SandboxState"
    #: The namespace that is meant where none is named.
    namespace: str


@contextmanager
def opened(asked: ClusterOptions) -> Iterator[OpenedCluster]:
    """The cluster, while the block lasts.

    Raises:
        InputError: the kubeconfig cannot be used.
    """
    from stretto.base.rng import Rng
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.kube.transport.options import KubeOptions

    access = access_from(asked.kubeconfig, asked.context)
    store = KubeStore(access, Rng(0), KubeOptions(read_patience=PATIENCE))
    try:
        named = asked.context or (str(asked.kubeconfig) if asked.kubeconfig else "")
        yield OpenedCluster(store, f"cluster {named}".strip(), access.namespace)
    finally:
        store.close()


def state_in(
    common: CommandContext, asked: ClusterOptions, shards: int = 1, plugins: tuple[Path, ...] = ()
) -> ClusterContents:
    """What the cluster holds now, with the rules that its scheduler runs with.

    Raises:
        InputError: the kubeconfig or the profile cannot be used.
        NotAllowedError: pods or nodes may not be listed.
        UnreachableError: the server does not answer.
    """
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profile
    from stretto.sim.history.clusters import listed
    from stretto.sim.history.sandbox import SandboxState
    from stretto.sim.setup import PlaneSettings, chosen_source

    source = chosen_source("default", profile=asked.profile, plugins=plugins)
    own = load_profile(source, known_rules(plugins)).scheduler_names
    names = frozenset(asked.scheduler_name or own)
    with opened(asked) as cluster:
        found, namespace = listed(cluster.store), cluster.namespace
    if found.hidden:
        common.console.note(f"left out, for want of the right to list: {', '.join(found.hidden)}")
    settings = PlaneSettings(shards, common.seed, names)
    now = common.console.clock.now()
    return ClusterContents(
        SandboxState(cluster.title, found.records, source, settings, now), namespace
    )
