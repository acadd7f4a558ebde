"""``stretto dispatcher``, ``shard``, ``binder`` and ``controller``: the scheduler as daemons.

Each daemon runs one role; ``stretto scheduler`` runs all roles in one process. The roles
communicate through pod annotations and Scheduler objects. Each daemon has its own lease and can be
stopped, killed and restarted at any time.
"""

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import click

from stretto.cli import options
from stretto.cli.commands.scheduler import serve
from stretto.cli.daemon_options import DaemonOptions, daemon_options
from stretto.cli.options import CommandContext

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
DEAD_AFTER: Final = 120.0
"""Default number of seconds without a renewal after which a shard is considered dead."""


@dataclass(frozen=True, kw_only=True)
class DispatcherOptions(DaemonOptions):
    """Options of ``dispatcher``."""

    #: Seconds without a renewal after which a shard is considered dead.
    shard_timeout: float
    #: True if nodes are divided among shards.
    partition: bool


@dataclass(frozen=True, kw_only=True)
class ShardOptions(DaemonOptions):
    """Options of ``shard``."""

    #: Name of its Scheduler object.
    name: str
    #: Seconds between two renewals of its Scheduler object.
    renew_every: float
    #: True if the shard tries the nodes of its own partition first.
    partition: bool


@options.command(
    "dispatcher",
    DispatcherOptions,
    example="""
        stretto dispatcher --kubeconfig ~/.kube/config
        stretto dispatcher --shard-timeout 30 --no-partition
    """,
    result=False,
)
@daemon_options(10351, "kube-system/stretto-dispatcher")
@click.option(
    "--shard-timeout",
    type=options.FiniteRange(min=1.0),
    default=DEAD_AFTER,
    metavar="SECONDS",
    help="Time without a renewal after which a shard is considered dead [120].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Divide the nodes among two or more shards, by annotation [yes].",
)
def dispatcher(common: CommandContext, opts: DispatcherOptions) -> None:
    """Order the pods of a cluster and dispatch them to shards.

    The dispatcher forms units, maintains queues and their shares, repairs pods with contradictory
    annotations, and dispatches the pods of dead shards again.
    """
    from stretto.daemons.roles.dispatcher import DispatcherRoleConfig, dispatcher_plane

    wire = DispatcherRoleConfig(opts.shard_timeout, opts.partition)
    serve(common, opts, partial(dispatcher_plane, wire=wire))


@options.command(
    "shard",
    ShardOptions,
    example="""
        stretto shard shard-0 --kubeconfig ~/.kube/config
        stretto shard shard-1 --renew-every 5 --bind-address 127.0.0.1:10252
    """,
    result=False,
)
@click.argument("name")
@daemon_options(10251)
@click.option(
    "--renew-every",
    type=options.FiniteRange(min=0.1),
    default=30.0,
    metavar="SECONDS",
    help="Time between renewals; well below the dispatcher's --shard-timeout [30].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Try the nodes of the shard's own partition first [yes].",
)
def shard(common: CommandContext, opts: ShardOptions) -> None:
    """Find nodes for the pods dispatched to the shard NAME.

    The shard registers a Scheduler object of that name and writes the assumed node, or the required
    victims, to each pod. Several processes with the same name are standbys of each other.
    """
    from stretto.base.errors import InputError
    from stretto.daemons.roles.shard import shard_plane
    from stretto.daemons.roles.solo_plane import ShardConfig

    if not _NAME.fullmatch(opts.name):
        expected = "at most 63 lower-case letters, digits, - and ."
        raise InputError("NAME", opts.name, expected, "for example shard-0")
    wire = ShardConfig(opts.name, opts.renew_every, opts.partition)
    own = f"kube-system/stretto-shard-{opts.name.removeprefix('shard-')}"
    serve(common, replace(opts, lease=opts.lease or own), partial(shard_plane, wire=wire))


@options.command(
    "binder",
    DaemonOptions,
    example="""
        stretto binder --kubeconfig ~/.kube/config
    """,
    result=False,
)
@daemon_options(10451, "kube-system/stretto-binder")
def binder(common: CommandContext, opts: DaemonOptions) -> None:
    """Check the decisions of the shards against the current state, and bind.

    A gang is bound when at least minMember pods are decided and all of those decisions are valid;
    invalid decisions return to their shard. Victims of preemption are evicted within their budgets.
    """
    from stretto.daemons.roles.binder import binder_plane

    serve(common, opts, binder_plane)


@options.command(
    "controller",
    DaemonOptions,
    example="""
        stretto controller --kubeconfig ~/.kube/config
    """,
    result=False,
)
@daemon_options(10551, "kube-system/stretto-controller")
def controller(common: CommandContext, opts: DaemonOptions) -> None:
    """Maintain PodGroup phases, queue statuses and reservations for successor pods."""
    from stretto.daemons.roles.controller import controller_plane

    serve(common, opts, controller_plane)
