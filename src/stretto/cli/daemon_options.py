"""What every daemon of a cluster is told: way in, names, profile, lease, log."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from stretto.cli import options

F = TypeVar("F", bound=Callable[..., Any])

SHORTEST_LEASE: Final = 8.0
"""Seconds: the longest write in flight, and some in which to renew."""
PEM: Final = click.Path(dir_okay=False, path_type=Path)
"""A file of a certificate or key: read when it is served with, and again when it changes."""


@dataclass(frozen=True, kw_only=True)
class DaemonOptions:
    """Options of every daemon."""

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
    #: ``namespace/name`` of the lease.
    lease: str
    #: Seconds without a renewal after which a standby takes it.
    lease_duration: float
    #: Whether pods that wait get conditions and events.
    report: bool
    #: ``text`` or ``json``.
    log_format: str
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


_FOR_ALL: Final = (
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
    click.option("--profile", default="default", metavar="NAME|FILE", help="Scheduling profile."),
    click.option(
        "--tls-cert-file",
        type=PEM,
        metavar="FILE",
        help="Serve pages over TLS, as all but loopback must; metrics then need a token.",
    ),
    click.option("--tls-private-key-file", type=PEM, metavar="FILE", help="Its private key."),
    click.option(
        "--leader-elect/--no-leader-elect",
        default=True,
        help="Act only while holding the lease [yes].",
    ),
    click.option(
        "--lease-duration",
        type=options.FiniteRange(min=SHORTEST_LEASE),
        default=15.0,
        metavar="S",
        help="Seconds without a renewal after which a standby takes the lease; at least 8 [15].",
    ),
    click.option(
        "--report/--no-report", default=True, help="Tell in the cluster why pods wait [yes]."
    ),
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", help="Form of the log."
    ),
    click.option(
        "--tier",
        type=click.Choice(["auto", "numba", "numpy"]),
        default="auto",
        help="Kernels: compiled (numba), NumPy (numpy), or compiled once they exist [auto].",
    ),
)


def daemon_options(port: int, lease: str = "") -> Callable[[F], F]:
    """The options of ``DaemonOptions``.

    Args:
        port: where probes and metrics are served on loopback, unless told otherwise.
        lease: the lease, unless told otherwise; empty where it follows from the daemon's name.
    """
    address = f"127.0.0.1:{port}"
    pages = f"Serve /livez, /readyz, /healthz and /metrics; empty for nowhere [{address}]."
    held = f"The lease [{lease or 'its own'}]."
    own = (
        click.option("--bind-address", default=address, metavar="HOST:PORT", help=pages),
        click.option("--lease", default=lease, metavar="NS/NAME", help=held),
    )

    def decorate(body: F) -> F:
        for each in reversed((*_FOR_ALL, *own)):
            body = each(body)
        return body

    return decorate
