"""``stretto master --kubeconfig``: offers the nodes of a cluster."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.daemon_options import SHORTEST_LEASE
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext
from stretto.cli.parts.leading import candidate, process_identity
from stretto.cli.sources.stores import scheduler_store

if TYPE_CHECKING:
    from stretto.offers.allocator.subjects.settings import AllocatorSettings
    from stretto.offers.master.core.settings import MasterSettings
    from stretto.offers.master.server.serve import ServerSettings

F = TypeVar("F", bound=Callable[..., Any])
TASK_PORTS: Final = "20000-20999"
"""Default host ports: below the node ports of Services and the ephemeral ports of Linux."""
LAST_PORT: Final = 65535
_ADDRESS: Final = re.compile(
    r"(?P<host>[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]+\])(:(?P<port>[0-9]{1,5}))?"
)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of a master over a cluster."""

    #: Kubeconfig; ``None`` for a master of agents.
    kubeconfig: Path | None
    #: True if the master offers the cluster of kubectl's default kubeconfig; in a pod, its own
    #: cluster.
    cluster: bool
    #: Address of this process for other machines; empty for its listen address.
    advertise: str
    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Namespace of the pods of tasks and of the stored state.
    namespace: str
    #: True if the finalizer is removed from the pods of tasks, without running a master.
    release: bool
    #: Default image of tasks.
    image: str
    #: PriorityClass of the pods of tasks.
    priority_class: str
    #: Ranges of the host ports that every node offers; empty for none.
    task_ports: str
    #: Scheduling profile of pods.
    profile: str
    #: ``schedulerName`` values that the master handles; empty for those of the profile.
    scheduler_name: tuple[str, ...]
    #: True if the master acts only while it holds the lease.
    leader_elect: bool
    #: Lease duration in seconds, after which a standby takes over.
    lease_duration: float
    #: Kernel tier.
    tier: str


_OPTIONS: Final = (
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="Offer the nodes of this cluster, and schedule its pods in the same pool.",
    ),
    click.option(
        "--cluster",
        is_flag=True,
        help="Same as --kubeconfig with kubectl's default; in a pod, the cluster of the pod.",
    ),
    click.option(
        "--advertise",
        default="",
        metavar="HOST[:PORT]",
        help="Address to which standbys redirect while this process leads [--ip:--port].",
    ),
    options.CONTEXT,
    click.option(
        "--namespace",
        default="default",
        metavar="NAME",
        help="Namespace of the pods of tasks and of the master's state [default].",
    ),
    click.option(
        "--release",
        is_flag=True,
        help="Remove the finalizer from the pods of tasks and exit, after the last master stopped.",
    ),
    click.option(
        "--image",
        default="busybox",
        metavar="IMAGE",
        help="Default image of tasks [busybox].",
    ),
    click.option("--priority-class", default="", metavar="NAME", help="PriorityClass of tasks."),
    click.option(
        "--task-ports",
        default=TASK_PORTS,
        metavar="RANGES",
        help=f"Host ports that every node offers; '' for none [{TASK_PORTS}].",
    ),
    click.option("--profile", default="default", metavar="NAME|FILE", help="Scheduling profile."),
    click.option(
        "--scheduler-name",
        multiple=True,
        metavar="NAME",
        help="Schedule pods with this schedulerName [the profile's].",
    ),
    click.option(
        "--leader-elect/--no-leader-elect",
        default=True,
        help="With --kubeconfig: act only while holding the lease [yes].",
    ),
    click.option(
        "--lease-duration",
        type=options.FiniteRange(min=SHORTEST_LEASE),
        default=15.0,
        metavar="SECONDS",
        help="Time without a renewal after which a standby leads; at least 8 [15].",
    ),
    options.TIER,
)
"""The options of a master over a cluster, in the order of the help."""


def cluster_options(body: F) -> F:
    """Add the options of `ClusterOptions`."""
    for option in reversed(_OPTIONS):
        body = option(body)
    return body


def serve_cluster(
    common: CommandContext,
    opts: ClusterOptions,
    master: "MasterSettings",
    allocation: "AllocatorSettings",
    server: "ServerSettings",
) -> None:
    """Run a master over a cluster until it is stopped.

    Raises:
        InputError: an option, the kubeconfig or the profile is invalid.
    """
    import uvloop

    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.daemons.logs import Log, LogFormat
    from stretto.daemons.master import ClusterMasterConfig, MasterDaemon
    from stretto.daemons.scheduler import REPORT, plane_config
    from stretto.framework.profile.profile import load_profile
    from stretto.offers.nodes.amounts import read_ports
    from stretto.offers.nodes.pods import PodSettings

    clock = WallClock()
    log = Log(clock, LogFormat.TEXT)
    profile = load_profile(opts.profile)
    if profile.exact:
        expected = "a profile that counts claims in the ledger; kube-parity keeps its own model"
        raise InputError("--profile", opts.profile, expected)
    tier = tier_of(opts.tier, log.info)
    plane = plane_config(profile, opts.scheduler_name, 1, tier, REPORT)
    scheduler = min(plane.cluster.scheduler_names)
    pods = PodSettings(
        namespace=opts.namespace,
        image=opts.image,
        scheduler=scheduler,
        priority_class=opts.priority_class,
        ports=read_ports(opts.task_ports, "--task-ports"),
    )
    config = ClusterMasterConfig(plane, master, allocation, server, pods)
    address = advertised(opts.advertise, master.ip, master.port)
    identity = process_identity(address, clock)
    store = scheduler_store(opts.kubeconfig, opts.context, Rng(common.seed).child(identity))
    try:
        lease, duration = (opts.namespace, config.name), opts.lease_duration
        elector = candidate(store, clock, lease, identity, duration if opts.leader_elect else None)
        uvloop.run(MasterDaemon(config, store, elector, clock, log).run())
    finally:
        store.close()
    log.info("stopped")


def release_tasks(common: CommandContext, opts: ClusterOptions) -> None:
    """Remove the finalizer from the pods of tasks, which no master manages any more.

    Raises:
        InputError: no cluster is given, or its kubeconfig is invalid.
        NotAllowedError: the cluster refuses the write.
    """
    from stretto.base.rng import Rng
    from stretto.offers.nodes.writes import release_all

    if opts.kubeconfig is None and not opts.cluster:
        raise InputError("--release", None, "a cluster: --kubeconfig or --cluster")
    store = scheduler_store(opts.kubeconfig, opts.context, Rng(common.seed))
    try:
        count = release_all(store, opts.namespace)
    finally:
        store.close()
    common.console.data(f"pods released in namespace {opts.namespace}: {count}")


def advertised(text: str, ip: str, port: int) -> str:
    """Return the address of this process for other machines, as ``HOST:PORT``.

    Raises:
        InputError: the text is not an address, or is empty while this process listens on all
            addresses.
    """
    if not text:
        if ipaddress.ip_address(ip).is_unspecified:
            expected = "a name or address that frameworks reach, because --ip is none"
            raise InputError("--advertise", text, expected, "such as the address of the pod")
        return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    found = _ADDRESS.fullmatch(text)
    number = int(found["port"] or port) if found else 0
    if found is None or not 1 <= number <= LAST_PORT:
        raise InputError("--advertise", text, "HOST or HOST:PORT, such as 10.1.2.3:5050")
    return f"{found['host']}:{number}"
