"""The options of daemons: access, probes, lease and log; names and profile of schedulers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from stretto.base.errors import InputError
from stretto.cli import options

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.daemons.logs import Log
    from stretto.daemons.probes import ServingCertificate
    from stretto.daemons.profiles import ProfileFile
    from stretto.framework.profile.profile import Profile
    from stretto.plane.config import PlaneConfig

F = TypeVar("F", bound=Callable[..., Any])

SHORTEST_LEASE: Final = 8.0
"""Minimum lease duration in seconds: the longest write in flight, plus the time of a renewal."""
PEM: Final = click.Path(dir_okay=False, path_type=Path)
"""A certificate or key file: read when serving starts, and again when it changes."""


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """Options of every daemon of a cluster: access, probes, lease and log."""

    #: Kubeconfig; ``None`` for the pod's service account or kubectl's default.
    kubeconfig: Path | None
    #: Address of the probe and metrics server; empty for none.
    bind_address: str
    #: TLS certificate of the server; ``None`` for plain HTTP on the loopback address.
    tls_cert_file: Path | None
    #: Private key of the certificate.
    tls_private_key_file: Path | None
    #: True if the process acts only while it holds the lease.
    leader_elect: bool
    #: ``namespace/name`` of the lease.
    lease: str
    #: Lease duration in seconds, after which a standby takes over.
    lease_duration: float
    #: ``text`` or ``json``.
    log_format: str

    def log(self, clock: "Clock") -> "Log":
        """Create the log of the daemon."""
        from stretto.daemons.logs import Log, LogFormat

        return Log(clock, LogFormat(self.log_format))

    def lease_name(self) -> tuple[str, str]:
        """Return namespace and name of the lease.

        Raises:
            InputError: the lease is not ``NAMESPACE/NAME``.
        """
        namespace, _, name = self.lease.partition("/")
        if not namespace or not name:
            raise InputError("--lease", self.lease, "NAMESPACE/NAME")
        return namespace, name

    def certificate(self) -> "ServingCertificate | None":
        """Return the certificate and its key; ``None`` for plain HTTP.

        Raises:
            InputError: only one of the two files is given.
        """
        from stretto.daemons.probes import ServingCertificate

        cert, key = self.tls_cert_file, self.tls_private_key_file
        if cert is None and key is None:
            return None
        if cert is None or key is None:
            missing = "--tls-cert-file" if cert is None else "--tls-private-key-file"
            raise InputError(missing, None, "a file: certificate and key are used together")
        return ServingCertificate(cert, key)


@dataclass(frozen=True, kw_only=True)
class DaemonOptions(ProcessOptions):
    """Options of every daemon that schedules pods."""

    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: ``schedulerName`` values that the daemon handles; empty for those of the profile.
    scheduler_name: tuple[str, ...]
    #: Profile by name or file.
    profile: str
    #: True if conditions and events of pods are written.
    report: bool
    #: True if bound pods get ``Scheduled`` events.
    scheduled_events: bool
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str

    def profile_file(self, clock: "Clock", log: "Log") -> "ProfileFile":
        """Open the profile, which is reloaded when its file changes.

        Raises:
            InputError: the profile is invalid.
        """
        from stretto.daemons.profiles import ProfileFile
        from stretto.framework.profile.profile import load_profile

        return ProfileFile(self.profile, load_profile, clock, log)

    def plane_config(self, profile: "Profile", shards: int, tier: str) -> "PlaneConfig":
        """Return the configuration of the plane for a profile."""
        import msgspec

        from stretto.daemons.scheduler import REPORT, plane_config

        report = msgspec.structs.replace(REPORT, scheduled=self.scheduled_events)
        names = self.scheduler_name
        return plane_config(profile, names, shards, tier, report if self.report else None)


_PROCESS: Final = (
    click.option(
        "--kubeconfig",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="Kubeconfig of the cluster [the pod's service account, or kubectl's default].",
    ),
    click.option(
        "--tls-cert-file",
        type=PEM,
        metavar="FILE",
        help="Serve over TLS, required on any address but loopback; /metrics then needs a token.",
    ),
    click.option(
        "--tls-private-key-file", type=PEM, metavar="FILE", help="Private key of the certificate."
    ),
    click.option(
        "--leader-elect/--no-leader-elect",
        default=True,
        help="Act only while holding the lease [yes].",
    ),
    click.option(
        "--lease-duration",
        type=options.FiniteRange(min=SHORTEST_LEASE),
        default=15.0,
        metavar="SECONDS",
        help="Time without a renewal after which a standby acquires the lease; at least 8 [15].",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Log format [text].",
    ),
)
"""Options for access, probes, lease and log."""
_SCHEDULING: Final = (
    options.CONTEXT,
    click.option(
        "--scheduler-name",
        multiple=True,
        metavar="NAME",
        help="Handle pods with this schedulerName; may be repeated [the profile's].",
    ),
    click.option("--profile", default="default", metavar="NAME|FILE", help="Scheduling profile."),
    click.option(
        "--report/--no-report",
        default=True,
        help="Write conditions and events of pods [yes].",
    ),
    click.option(
        "--scheduled-events/--no-scheduled-events",
        default=True,
        help="Write a Scheduled event for each bound pod [yes].",
    ),
    options.TIER,
)
"""Options for the scheduling of pods."""


def process_options(port: int, lease: str = "") -> Callable[[F], F]:
    """Add the options of ``ProcessOptions``.

    Args:
        port: default loopback port of the probe and metrics server.
        lease: default lease; empty if it follows from the daemon's name.
    """
    address = f"127.0.0.1:{port}"
    pages = f"Serve /livez, /readyz, /healthz, /metrics here; empty: disabled [{address}]."
    lease_help = f"Name of the lease [{lease or 'named after the daemon'}]."
    own = (
        click.option("--bind-address", default=address, metavar="HOST:PORT", help=pages),
        click.option("--lease", default=lease, metavar="NS/NAME", help=lease_help),
    )
    return _decorator((*_PROCESS, *own))


def daemon_options(port: int, lease: str = "") -> Callable[[F], F]:
    """Add the options of ``DaemonOptions``; the arguments are those of ``process_options``."""
    schedules, runs = _decorator(_SCHEDULING), process_options(port, lease)
    return lambda body: schedules(runs(body))


def _decorator(added: tuple[Callable[[Any], Any], ...]) -> Callable[[F], F]:
    """Return a decorator that adds options in the order of the help."""

    def decorate(body: F) -> F:
        for each in reversed(added):
            body = each(body)
        return body

    return decorate
