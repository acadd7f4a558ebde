"""``stretto master``: a Mesos master for frameworks."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import INPUT_FILE, CommandContext
from stretto.cli.parts.masters.cluster import (
    ClusterOptions,
    cluster_options,
    release_tasks,
    serve_cluster,
)

REFUSE: Final = 5.0
"""Seconds until an offer that timed out may be repeated, as after a decline."""

if TYPE_CHECKING:
    from stretto.offers.master.core.settings import MasterSettings
    from stretto.offers.master.server.serve import ServerSettings


@dataclass(frozen=True, kw_only=True)
class MasterOptions(ClusterOptions):
    """Options of ``master``."""

    #: Listen address.
    ip: str
    #: Listen port.
    port: int
    #: Announced host name.
    hostname: str
    #: Directory of the stored state.
    work_dir: Path | None
    #: Credentials file.
    credentials: Path | None
    #: Access control lists.
    acls: Path | None
    #: Certificate chain.
    tls_cert: Path | None
    #: Private key.
    tls_key: Path | None
    #: Region and zone.
    domain: str
    #: Seconds between two allocation cycles.
    allocation_interval: float
    #: Seconds after which an unanswered offer is rescinded.
    offer_timeout: float | None
    #: Seconds for which a disconnected agent may return.
    agent_reregister_timeout: float
    #: Maximum number of requests per second of one principal.
    rate_limit: float
    #: Maximum size of a request body in megabytes.
    max_body: int
    #: True if Mesos' allocator is reproduced exactly.
    mesos: bool


@options.command(
    "master",
    MasterOptions,
    example="""
        stretto master --work-dir /var/lib/stretto
        stretto master --kubeconfig ~/.kube/config --namespace mesos
        stretto master --cluster --ip 0.0.0.0 --advertise "$POD_IP" --tls-cert tls.crt \\
          --tls-key tls.key --credentials users.json
        stretto master --ip 0.0.0.0 --tls-cert tls.crt --tls-key tls.key --credentials users.json
    """,
    result=False,
)
@click.option(
    "--ip", default="127.0.0.1", metavar="ADDRESS", help="Address on which to listen [127.0.0.1]."
)
@click.option(
    "--port", default=5050, type=options.WholeRange(1, 65535), metavar="PORT", help="Port [5050]."
)
@click.option("--hostname", default="localhost", metavar="NAME", help="Announced name [localhost].")
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Directory of frameworks, tasks, quota and reservations [kept in memory only].",
)
@click.option("--credentials", type=INPUT_FILE, help="Require these principals and secrets.")
@click.option("--acls", type=INPUT_FILE, help="Permissions of principals, in Mesos' JSON.")
@click.option("--tls-cert", type=INPUT_FILE, help="Certificate chain; serves HTTPS.")
@click.option("--tls-key", type=INPUT_FILE, help="Private key of the certificate.")
@click.option("--domain", default="", metavar="REGION/ZONE", help="Fault domain of the master.")
@click.option(
    "--allocation-interval",
    default=1.0,
    type=options.FiniteRange(0.01, 3600),
    metavar="SECONDS",
    help="Time between two cycles over all agents [1].",
)
@click.option(
    "--offer-timeout",
    default=None,
    type=options.FiniteRange(0.1, 86_400),
    metavar="SECONDS",
    help="Rescind offers without an answer after this time [60; never with --mesos].",
)
@click.option(
    "--agent-reregister-timeout",
    default=600.0,
    type=options.FiniteRange(1, 86_400),
    metavar="SECONDS",
    help="Time for a disconnected agent to return [600].",
)
@click.option(
    "--rate-limit",
    default=0.0,
    type=options.FiniteRange(0, 1_000_000),
    metavar="N",
    help="Maximum number of requests per second of one principal; 0: no limit [0].",
)
@click.option(
    "--max-body",
    default=8,
    type=options.WholeRange(1, 1024),
    metavar="MB",
    help="Maximum size of a request body [8].",
)
@click.option(
    "--mesos",
    is_flag=True,
    help="Offer exactly as Mesos 1.11 does, without Stretto's improvements.",
)
@cluster_options
def master(common: CommandContext, opts: MasterOptions) -> None:
    """Offer the capacity of agents to Mesos frameworks, over Mesos' HTTP API.

    Frameworks, agents and operators cannot distinguish it from a Mesos 1.11 master: v1 scheduler
    and operator API in JSON and protobuf, the older endpoints, metrics under Mesos' names. It
    listens on the loopback address; any other address needs TLS and credentials. With --work-dir, a
    restarted master continues after a crash. SIGTERM or Ctrl-C stops it.

    With --kubeconfig or --cluster no agent is needed: free capacity of the nodes is offered, tasks
    become pods, and the pods of the cluster are scheduled in the same pool. Several masters may
    run: the holder of the lease leads, the others redirect to it.
    """
    import uvloop

    from stretto.base.clock import WallClock
    from stretto.base.rng import Rng
    from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
    from stretto.offers.master.server.assembly import MasterHome
    from stretto.offers.master.server.serve import serve

    if opts.kubeconfig is None and not opts.cluster and not opts.release:
        options.refuse_given(
            options.fields_of(ClusterOptions), "only with --kubeconfig or --cluster"
        )
    if opts.release:
        release_tasks(common, opts)
        return
    clock = WallClock()
    rng = Rng(common.seed).child(f"{clock.now():.6f}")
    server, allocation = _server(opts), MESOS if opts.mesos else DEFAULTS
    server.check()
    if opts.kubeconfig is not None or opts.cluster:
        if opts.work_dir is not None:
            expected = "no directory with a cluster: the state is kept in the cluster"
            raise InputError("--work-dir", str(opts.work_dir), expected)
        settings = _settings(opts, "", allocation.offer_timeout)
        serve_cluster(common, opts, settings, allocation, server)
        return
    with MasterHome(opts.work_dir) as home:
        settings = _settings(opts, home.master_id(rng), allocation.offer_timeout)
        scheme = "http" if opts.tls_cert is None else "https"
        common.console.note(f"master {settings.id} at {scheme}://{opts.ip}:{opts.port}")

        async def run() -> None:
            await serve(home.host(settings, allocation, clock, rng), server, clock)

        uvloop.run(run())


def _server(opts: MasterOptions) -> "ServerSettings":
    from stretto.offers.master.server.credentials import read_credentials
    from stretto.offers.master.server.limits import RequestLimits
    from stretto.offers.master.server.serve import ServerSettings

    if (opts.tls_cert is None) != (opts.tls_key is None):
        raise InputError("--tls-cert", str(opts.tls_cert), "both --tls-cert and --tls-key")
    credentials = () if opts.credentials is None else read_credentials(opts.credentials)
    return ServerSettings(
        ip=opts.ip,
        port=opts.port,
        certificate=opts.tls_cert,
        key=opts.tls_key,
        credentials=credentials,
        limits=RequestLimits(body=opts.max_body << 20, rate=opts.rate_limit),
    )


def _settings(opts: MasterOptions, master_id: str, offer_timeout: float | None) -> "MasterSettings":
    from stretto.offers.master.core.acls import Acls, read_acls
    from stretto.offers.master.core.flags import master_flags
    from stretto.offers.master.core.settings import MasterSettings

    region, slash, zone = opts.domain.partition("/")
    if opts.domain and not (region and slash and zone):
        raise InputError("--domain", opts.domain, "REGION/ZONE, such as eu-1/a")
    changed = {
        "allocation_interval": f"{opts.allocation_interval:g}secs",
        "agent_reregister_timeout": f"{opts.agent_reregister_timeout:g}secs",
        "port": f"{opts.port}",
        "registry": "in_memory" if opts.work_dir is None else "sqlite",
        "work_dir": "" if opts.work_dir is None else str(opts.work_dir),
    }
    return MasterSettings(
        id=master_id,
        ip=opts.ip,
        port=opts.port,
        hostname=opts.hostname,
        region=region,
        zone=zone,
        allocation_interval=opts.allocation_interval,
        offer_timeout=opts.offer_timeout or offer_timeout,
        timed_out_refuse=None if opts.mesos else REFUSE,
        agent_reregister_timeout=opts.agent_reregister_timeout,
        acls=Acls() if opts.acls is None else read_acls(opts.acls),
        flags=master_flags(changed, region, zone),
    )
