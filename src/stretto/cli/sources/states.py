"""The state of a command: ``--on STATE`` and the options of a live cluster.

All inspection commands have the same options and read the state with the same functions, so that a
state has the same name in all of them. A live cluster is only read, which is safe next to a running
scheduler and needs the list permissions of ``deploy/rbac-reader.yaml``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.inputs.objects.relations import InputObject
    from stretto.plane.copy import SchedulingRules, StoreState
    from stretto.stores.kube.store import KubeStore

COPY_READ_TIMEOUT: Final = 6.0
"""Seconds for which a failing read is retried; short, because a user waits for the answer."""
CLUSTER: Final = "cluster"
"""Name of kubectl's current cluster as a state; ``cluster:CONTEXT`` is another cluster."""
METAVAR: Final = "STATE"
STATES: Final = (
    "a run, SCENARIO.yaml, a recording, sqlite:PATH, cluster, cluster:CONTEXT, or empty nodes as "
    "SHAPE:N"
)


@dataclass(frozen=True, kw_only=True)
class StateOptions:
    """Options of a command that reads a state."""

    #: True if the command accepts a profile for any state.
    tries_profiles: ClassVar[bool] = False
    #: The state; empty for the latest run record.
    on: str = ""
    #: The state in its old form: an argument, ``--run`` or ``--store``.
    old_state: str | None = None
    #: True if the command reads kubectl's current cluster.
    cluster: bool = False
    #: Kubeconfig of the cluster; ``None`` for kubectl's default.
    kubeconfig: Path | None = None
    #: Context of the kubeconfig; empty for the current one.
    context: str = ""
    #: ``schedulerName`` values of the cluster's scheduler; empty for those of the profile.
    scheduler_name: tuple[str, ...] = ()
    #: Scheduling profile of the state; empty for its own, or the default.
    profile: str = ""
    #: Default namespace of names; empty for ``default``.
    namespace: str = ""

    @property
    def named(self) -> str:
        """Name of the state; empty for the latest record."""
        return self.on or self.old_state or ""

    @property
    def is_cluster_name(self) -> bool:
        """True if the name of the state is a cluster."""
        return self.named == CLUSTER or self.named.startswith(f"{CLUSTER}:")

    @property
    def reads_cluster(self) -> bool:
        """True if the command reads a cluster."""
        chosen = self.cluster or self.kubeconfig is not None or bool(self.context)
        return chosen or self.is_cluster_name

    @property
    def cluster_context(self) -> str:
        """Context of the cluster; empty for the current one."""
        return self.context or (self.named.partition(":")[2] if self.is_cluster_name else "")

    def check(self) -> None:
        """Refuse two states, and options that do not apply to the state.

        Raises:
            InputError: the options conflict.
        """
        if self.on and self.old_state:
            raise InputError("--on", self.on, "one state", f"remove {self.old_state}")
        named = "" if self.is_cluster_name else self.named
        if self.reads_cluster and named:
            raise InputError("--on", named, "no other state next to a cluster", "remove one")
        if self.scheduler_name and not self.reads_cluster:
            hint = "add --on cluster, --kubeconfig or --context"
            names = ", ".join(self.scheduler_name)
            raise InputError("--scheduler-name", names, "a cluster to read", hint)


_OLD_RUN: Final = click.option("--run", "old_state", hidden=True)
_OLD_STORE: Final = click.option("--store", "old_state", hidden=True)


class _OldArgument(click.Argument):
    """An argument that still works but is not shown in the usage."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return nothing."""
        return []


def old_argument(body: Callable[..., Any]) -> Callable[..., Any]:
    """Accept the state as the first argument, as earlier versions did."""
    return click.argument("old_state", required=False, default="", cls=_OldArgument)(body)


old_run: Final = _OLD_RUN
"""Accept ``--run STATE``, as earlier versions did."""
old_store: Final = _OLD_STORE
"""Accept ``--store STATE``, as earlier versions did."""

ON: Final = click.option(
    "--on",
    default="",
    metavar=METAVAR,
    shell_complete=options.completes("states"),
    help=f"The state: {STATES} [the latest run].",
)
_OPTIONS: Final = (
    ON,
    click.option("--cluster", is_flag=True, help="Same as --on cluster, kubectl's own cluster."),
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="Read the cluster of this kubeconfig.",
    ),
    options.CONTEXT,
    click.option(
        "--scheduler-name",
        multiple=True,
        metavar="NAME",
        help="schedulerName of the cluster's scheduler; may be repeated [the profile's].",
    ),
    click.option(
        "--profile",
        default="",
        metavar="NAME|FILE",
        shell_complete=options.completes("profiles"),
        help="Scheduling profile of the state [its own, or default].",
    ),
)
NAMESPACE: Final = click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Namespace of names that have none."
)


def state_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that reads a state, except the namespace."""
    for each in reversed(_OPTIONS):
        body = each(body)
    return body


def full_name(name: str, namespace: str) -> str:
    """Add a namespace to a name unless it has one."""
    return f"{namespace}/{name}" if namespace and "/" not in name else name


class OpenedCluster(NamedTuple):
    """An open cluster."""

    #: API server of the cluster.
    store: "KubeStore"
    #: Name as text, such as ``cluster prod``.
    title: str
    #: The default namespace.
    namespace: str


class StateContents(NamedTuple):
    """Contents of a state."""

    #: Objects of the state, with the rules of its scheduler.
    state: "StoreState"
    #: The default namespace; empty for ``default``.
    namespace: str


@contextmanager
def opened(opts: StateOptions) -> Iterator[OpenedCluster]:
    """Open the cluster for the duration of the block.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.cli.sources.stores import cluster_store

    context = opts.cluster_context
    store, namespace = cluster_store(opts.kubeconfig, context, read_timeout=COPY_READ_TIMEOUT)
    try:
        named = context or (str(opts.kubeconfig) if opts.kubeconfig else "")
        yield OpenedCluster(store, f"cluster {named}".strip(), namespace)
    finally:
        store.close()


def read_state(
    common: CommandContext,
    opts: StateOptions,
    rules: "SchedulingRules | None" = None,
    shards: int = 1,
) -> StateContents:
    """Read the objects of a state, with the rules of its scheduler.

    Args:
        common: the command, for notes and for the seed of the copy of a cluster.
        opts: the options of the state.
        rules: kernels and plugins.
        shards: number of shards of a cluster's scheduler.

    Raises:
        InputError: the state, the kubeconfig or the profile is invalid.
        NotFoundError: no run has the name.
        NotAllowedError: the listing of pods or nodes is forbidden.
        UnreachableError: the server does not answer.
    """
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.options import chosen_source
    from stretto.sim.states.source import StateKind, referenced, state_of

    opts.check()
    rules = rules or SchedulingRules("")
    if opts.reads_cluster:
        return _cluster_state(common, opts, rules.plugins, shards)
    if not opts.profile:
        return StateContents(state_of(opts.named, rules), "")
    kind = referenced(opts.named).kind
    if not opts.tries_profiles and kind in (StateKind.RUN, StateKind.SCENARIO):
        expected = "no profile: runs and scenarios have their own"
        hint = "remove it, or name a store, a recording or a cluster"
        raise InputError("--profile", opts.profile, expected, hint)
    state = state_of(opts.named, rules)
    source = chosen_source(state.profile, profile=opts.profile, plugins=rules.plugins)
    return StateContents(state._replace(profile=source), "")


def added_objects(manifests: Sequence[Path], *namespaces: str) -> "list[InputObject]":
    """Return the objects of manifests that a trial adds to a state; workloads stay workloads.

    Args:
        manifests: files and folders.
        namespaces: default namespaces of the objects; the first one that is not empty is used.

    Raises:
        InputError: a manifest is invalid.
    """
    from stretto.inputs.objects.manifests import ManifestOptions, load_objects

    namespace = next(filter(None, namespaces), "default")
    settings = ManifestOptions(namespace, expand_controllers=False)
    return load_objects(list(manifests), settings) if manifests else []


def _cluster_state(
    common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...], shards: int
) -> StateContents:
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profile
    from stretto.plane.copy import PlaneSettings, StoreState
    from stretto.sim.options import chosen_source
    from stretto.sim.states.clusters import listed

    source = chosen_source("default", profile=opts.profile, plugins=plugins)
    own = load_profile(source, known_rules(plugins)).scheduler_names
    names = frozenset(opts.scheduler_name or own)
    with opened(opts) as cluster:
        found, namespace = listed(cluster.store), cluster.namespace
    if found.hidden:
        common.console.note(f"left out (no permission to list): {', '.join(found.hidden)}")
    settings = PlaneSettings(shards, common.seed, names)
    now = common.console.clock.now()
    return StateContents(StoreState(cluster.title, found.records, source, settings, now), namespace)


def rules_of(
    state: "StoreState", policy: str, tier: str, plugins: tuple[Path, ...]
) -> "SchedulingRules":
    """Return the rules of a state; a policy replaces its scores.

    Raises:
        UnknownNameError: the policy does not exist.
    """
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.options import chosen_source

    source = chosen_source(state.profile, policy, plugins=plugins)
    return SchedulingRules(source, tier, plugins=plugins)
