"""``stretto dispatcher``, ``shard``, ``binder`` and ``controller``: the scheduler as daemons.

Each is one role of the whole that ``stretto scheduler`` runs in one process. They hand over through
annotations of pods and Scheduler objects, each elects its leader by a lease of its own, and any
of them may be stopped, killed and started again at any moment.
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
"""Seconds without a sign of life after which a shard is dead, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class DispatcherOptions(DaemonOptions):
    """Options of ``dispatcher``."""

    #: Seconds without a sign of life after which a shard is dead.
    shard_timeout: float
    #: Whether nodes are shared out to shards.
    partition: bool


@dataclass(frozen=True, kw_only=True)
class ShardOptions(DaemonOptions):
    """Options of ``shard``."""

    #: Name of its Scheduler object.
    name: str
    #: Seconds between signs of life.
    renew_every: float
    #: Whether its share of the nodes is tried first.
    partition: bool


@options.command(
    "dispatcher",
    DispatcherOptions,
    example="""
        stretto dispatcher --kubeconfig ~/.kube/config
        stretto dispatcher --shard-timeout 30 --no-partition
    """,
)
@daemon_options(10351, "kube-system/stretto-dispatcher")
@click.option(
    "--shard-timeout",
    type=options.FiniteRange(min=1.0),
    default=DEAD_AFTER,
    metavar="S",
    help="Seconds without a sign of life after which a shard is dead [120].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Share the nodes out among two shards or more, by annotation [yes].",
)
def dispatcher(common: CommandContext, asked: DispatcherOptions) -> None:
    """Order the pods of a cluster and hand them to shards.

    It forms units, keeps queues and their shares, puts pods right whose annotations contradict one
    another, and takes the pods of dead shards back.
    """
    from stretto.daemons.roles.dispatcher import DispatcherRoleConfig, dispatcher_plane

    wire = DispatcherRoleConfig(asked.shard_timeout, asked.partition)
    serve(common, asked, partial(dispatcher_plane, wire=wire))


@options.command(
    "shard",
    ShardOptions,
    example="""
        stretto shard shard-0 --kubeconfig ~/.kube/config
        stretto shard shard-1 --renew-every 5 --bind-address 127.0.0.1:10252
    """,
)
@click.argument("name")
@daemon_options(10251)
@click.option(
    "--renew-every",
    type=options.FiniteRange(min=0.1),
    default=30.0,
    metavar="S",
    help="Seconds between signs of life; well below the dispatcher's --shard-timeout [30].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Try the nodes of its own share first [yes].",
)
def shard(common: CommandContext, asked: ShardOptions) -> None:
    """Find nodes for the pods that were dispatched to the shard NAME.

    It registers a Scheduler object of its name and writes on each pod where it is assumed, or who
    must leave first. Several processes of one name stand by for one another.
    """
    from stretto.base.errors import InputError
    from stretto.daemons.roles.shard import ShardConfig, shard_plane

    if not _NAME.fullmatch(asked.name):
        expected = "lower case letters, digits, - and ., at most 63"
        raise InputError("NAME", asked.name, expected, "for example shard-0")
    wire = ShardConfig(asked.name, asked.renew_every, asked.partition)
    own = f"kube-system/stretto-shard-{asked.name.removeprefix('shard-')}"
    serve(common, replace(asked, lease=asked.lease or own), partial(shard_plane, wire=wire))


@options.command(
    "binder",
    DaemonOptions,
    example="""
        stretto binder --kubeconfig ~/.kube/config
    """,
)
@daemon_options(10451, "kube-system/stretto-binder")
def binder(common: CommandContext, asked: DaemonOptions) -> None:
    """Check what shards have decided against the truth, and bind.

    A gang is bound when enough of it is decided and every member of that holds; what does not
    hold goes back to its shard. Pods that must leave first are asked to, within their budgets.
    """
    from stretto.daemons.roles.binder import binder_plane

    serve(common, asked, binder_plane)


@options.command(
    "controller",
    DaemonOptions,
    example="""
        stretto controller --kubeconfig ~/.kube/config
    """,
)
@daemon_options(10551, "kube-system/stretto-controller")
def controller(common: CommandContext, asked: DaemonOptions) -> None:
    """Keep the phases of PodGroups, the statuses of queues, and places for successors."""
    from stretto.daemons.roles.controller import controller_plane

    serve(common, asked, controller_plane)
