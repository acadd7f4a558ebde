"""``stretto dispatcher``, ``shard``, ``binder`` and ``controller``: the scheduler as daemons.

Each is one role of the whole that ``stretto scheduler`` runs in one process. They hand over through
annotations of pods and Scheduler objects, each elects its leader by a lease of its own, and any
of them may be stopped, killed and started again at any moment.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from stretto.cli import options
from stretto.cli.options import Common
from stretto.cli.scheduler import PEM, SchedulerOptions, serve

F = TypeVar("F", bound=Callable[..., Any])

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
DEAD_AFTER: Final = 120.0
"""Seconds without a sign of life after which a shard is dead, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """What every role is told; see ``SchedulerOptions``."""

    #: Kubeconfig; ``None`` takes the pod's own account, or what kubectl would take.
    kubeconfig: Path | None
    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Names that it answers to; empty takes the profile's.
    scheduler_name: tuple[str, ...]
    #: Profile by name or file.
    profile: str
    #: Where probes and metrics are served; empty for nowhere.
    bind_address: str
    #: Certificate to serve them with over TLS; ``None`` for plain HTTP on loopback.
    tls_cert_file: Path | None
    #: Its key.
    tls_private_key_file: Path | None
    #: Whether a lease decides who acts.
    leader_elect: bool
    #: ``namespace/name`` of the lease; empty for the role's own.
    lease: str
    #: Whether pods that wait get conditions and events.
    report: bool
    #: ``text`` or ``json``.
    log_format: str
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@dataclass(frozen=True, kw_only=True)
class DispatcherOptions(RoleOptions):
    """Options of ``dispatcher``."""

    #: Seconds without a sign of life after which a shard is dead.
    shard_timeout: float
    #: Whether nodes are shared out to shards.
    partition: bool


@dataclass(frozen=True, kw_only=True)
class ShardOptions(RoleOptions):
    """Options of ``shard``."""

    #: Name of its Scheduler object.
    name: str
    #: Seconds between signs of life.
    renew_every: float
    #: Whether its share of the nodes is tried first.
    partition: bool


def _for_every_role(port: int) -> Callable[[F], F]:
    """The options of ``RoleOptions``, with the address that is the role's own."""
    address = f"127.0.0.1:{port}"
    pages = f"Serve /livez, /readyz, /healthz and /metrics; empty for nowhere [{address}]."
    found = [
        click.option(
            "--kubeconfig",
            type=options.INPUT_FILE,
            metavar="FILE",
            help="Way into the cluster [the pod's service account, or kubectl's own rules].",
        ),
        click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
        click.option(
            "--scheduler-name",
            multiple=True,
            metavar="NAME",
            help="For pods of this schedulerName; may be given again [the profile's].",
        ),
        click.option(
            "--profile", default="default", metavar="NAME|FILE", help="Scheduling profile."
        ),
        click.option("--bind-address", default=address, metavar="HOST:PORT", help=pages),
        click.option(
            "--tls-cert-file",
            type=PEM,
            metavar="FILE",
            help="Serve them over TLS, as all but loopback must; metrics then need a token.",
        ),
        click.option("--tls-private-key-file", type=PEM, metavar="FILE", help="Its private key."),
        click.option(
            "--leader-elect/--no-leader-elect",
            default=True,
            help="Act only while holding the lease [yes].",
        ),
        click.option("--lease", default="", metavar="NS/NAME", help="The lease [the role's own]."),
        click.option(
            "--report/--no-report", default=True, help="Tell in the cluster why pods wait [yes]."
        ),
        click.option(
            "--log-format",
            type=click.Choice(["text", "json"]),
            default="text",
            help="Form of the log.",
        ),
        click.option(
            "--tier",
            type=click.Choice(["auto", "numba", "numpy"]),
            default="auto",
            help="Kernels: compiled (numba), plain (numpy), or what is installed [auto].",
        ),
    ]

    def decorate(body: F) -> F:
        for each in reversed(found):
            body = each(body)
        return body

    return decorate


@options.command(
    "dispatcher",
    DispatcherOptions,
    example="""
        stretto dispatcher --kubeconfig ~/.kube/config
        stretto dispatcher --shard-timeout 30 --no-partition
    """,
)
@_for_every_role(10351)
@click.option(
    "--shard-timeout",
    type=click.FloatRange(min=1.0),
    default=DEAD_AFTER,
    metavar="S",
    help="Seconds without a sign of life after which a shard is dead [120].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Share the nodes out among two shards or more, by annotation [yes].",
)
def dispatcher(common: Common, asked: DispatcherOptions) -> None:
    """Order the pods of a cluster and hand them to shards.

    It forms units, keeps queues and their shares, puts pods right whose annotations contradict one
    another, and takes the pods of dead shards back.
    """
    from stretto.daemons.wire.dispatcher import DispatcherConfig, DispatcherPlane

    wire = DispatcherConfig(asked.shard_timeout, asked.partition)
    serve(common, _whole(asked, "dispatcher"), partial(DispatcherPlane, wire=wire))


@options.command(
    "shard",
    ShardOptions,
    example="""
        stretto shard shard-0 --kubeconfig ~/.kube/config
        stretto shard shard-1 --renew-every 5 --bind-address 127.0.0.1:10252
    """,
)
@click.argument("name")
@_for_every_role(10251)
@click.option(
    "--renew-every",
    type=click.FloatRange(min=0.1),
    default=30.0,
    metavar="S",
    help="Seconds between signs of life; well below the dispatcher's --shard-timeout [30].",
)
@click.option(
    "--partition/--no-partition",
    default=True,
    help="Try the nodes of its own share first [yes].",
)
def shard(common: Common, asked: ShardOptions) -> None:
    """Find nodes for the pods that were dispatched to the shard NAME.

    It registers a Scheduler object of its name and writes on each pod where it is assumed, or who
    must leave first. Several processes of one name stand by for one another.
    """
    from stretto.base.errors import InputError
    from stretto.daemons.wire.shard import ShardConfig, ShardPlane

    if not _NAME.fullmatch(asked.name):
        expected = "lower case letters, digits, - and ., at most 63"
        raise InputError("NAME", asked.name, expected, "for example shard-0")
    wire = ShardConfig(asked.name, asked.renew_every, asked.partition)
    lease = f"shard-{asked.name.removeprefix('shard-')}"
    serve(common, _whole(asked, lease), partial(ShardPlane, wire=wire))


@options.command(
    "binder",
    RoleOptions,
    example="""
        stretto binder --kubeconfig ~/.kube/config
    """,
)
@_for_every_role(10451)
def binder(common: Common, asked: RoleOptions) -> None:
    """Check what shards have decided against the truth, and bind.

    A gang is bound when enough of it is decided and every member of that holds; what does not
    hold goes back to its shard. Pods that must leave first are asked to, within their budgets.
    """
    from stretto.daemons.wire.binder import BinderPlane

    serve(common, _whole(asked, "binder"), BinderPlane)


@options.command(
    "controller",
    RoleOptions,
    example="""
        stretto controller --kubeconfig ~/.kube/config
    """,
)
@_for_every_role(10551)
def controller(common: Common, asked: RoleOptions) -> None:
    """Keep the phases of PodGroups, the statuses of queues, and places for successors."""
    from stretto.daemons.wire.controller import ControllerPlane

    serve(common, _whole(asked, "controller"), ControllerPlane)


def _whole(asked: RoleOptions, role: str) -> SchedulerOptions:
    """The options as the daemon takes them, with the role's own lease where none was given."""
    given = {each.name: getattr(asked, each.name) for each in fields(RoleOptions)}
    lease = asked.lease or f"kube-system/stretto-{role}"
    return SchedulerOptions(**{**given, "lease": lease, "shards": 1})
