"""The options of a process with controllers.

Its host, its shard, and the behaviour of controllers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import click

from stretto.base.errors import InputError, UnknownNameError
from stretto.cli import options
from stretto.cli.commands.federation.source import CLUSTER
from stretto.cli.daemon_options import ProcessOptions

if TYPE_CHECKING:
    from stretto.federation.planner.supply.generations import PerformanceMatrix
    from stretto.federation.settings import FederationSettings
    from stretto.federation.shares import ControllerShare

LEASE: Final = "kube-system/stretto-federation"
"""The default lease of a process that runs all controllers."""
_LONGEST_NAME: Final = 60
"""Maximum length of a lease name; longer lists of controllers are shortened to a hash."""


@dataclass(frozen=True, kw_only=True)
class ControllerOptions(ProcessOptions):
    """Options of a process: its host, its controllers and their behaviour."""

    #: ``cluster`` or ``cluster:CONTEXT``.
    on: str
    #: Names of controllers, separated by commas; empty for all.
    controllers: str
    #: Number of shards.
    shards: int
    #: Index of the shard of this process.
    shard: int
    #: Style of division and rollouts: ``stretto`` or ``kubeadmiral``.
    planners: str
    #: Capacity of a cluster: ``sums`` or ``nodes``.
    capacity: str
    #: File with the work of one CPU by service and CPU model.
    performance: Path | None
    #: Seconds after which objects leave a lost cluster; ``None`` keeps them.
    failover_after: float | None
    #: The system namespace.
    namespace: str
    #: Seconds between health checks of a member.
    health_period: float
    #: Seconds of equal answers after which a member counts as ready or offline.
    health_threshold: float
    #: Seconds after which joining is given up.
    join_timeout: float
    #: Seconds after which a deleted cluster that does not answer is released.
    leave_timeout: float

    def context(self) -> str:
        """Return the context of the kubeconfig.

        Raises:
            InputError: the host is not a cluster.
        """
        kind, _, context = self.on.partition(":")
        if kind != CLUSTER:
            hint = f"a fleet file runs with: stretto run {self.on}"
            raise InputError("--on", self.on, "cluster or cluster:CONTEXT", hint)
        return context

    def share(self) -> "ControllerShare":
        """Return the share of the work of this process.

        Raises:
            InputError: there is no such shard.
            UnknownNameError: there is no such controller.
        """
        from stretto.federation.assembly import CONTROLLERS
        from stretto.federation.shares import ControllerShare

        if self.shard >= self.shards:
            expected = f"a number below --shards ({self.shards})"
            raise InputError("--shard", self.shard, expected, "shards count from 0")
        names = [each.strip() for each in self.controllers.split(",") if each.strip()]
        for name in names:
            if name not in CONTROLLERS:
                raise UnknownNameError("controller", name, CONTROLLERS, "--controllers")
        return ControllerShare(frozenset(names) if names else None, self.shard, self.shards)

    def lease_place(self) -> tuple[str, str]:
        """Return namespace and name of the lease: one for each set of controllers and each shard.

        Raises:
            InputError: the lease is not ``NAMESPACE/NAME``.
        """
        from stretto.stores.shards import shard_lease

        namespace, _ = self.lease_name()
        return namespace, shard_lease(self.lease_base(), self.shard, self.shards)

    def lease_base(self) -> str:
        """Return the part of the lease's name that all shards have, whatever their number.

        Raises:
            InputError: the lease is not ``NAMESPACE/NAME``, or ends as that of one shard.
        """
        from stretto.stores.shards import shard_ending

        _, name = self.lease_name()
        if ending := shard_ending(name, self.shards):
            hint = f"give every shard --lease {self.lease.removesuffix(ending)}: it adds -I-of-N"
            raise InputError("--lease", self.lease, f"a name that does not end with {ending}", hint)
        if self.lease != LEASE:
            return name
        share = self.share()
        if share.controllers is not None:
            text = "-".join(sorted(share.controllers))
            is_long = len(f"{name}-{text}") > _LONGEST_NAME
            name = f"{name}-{crc32(text.encode()):08x}" if is_long else f"{name}-{text}"
        return name

    def settings(self) -> "FederationSettings":
        """Return the settings of the controllers.

        Raises:
            InputError: the matrix is malformed.
        """
        from stretto.federation.settings import (
            KUBEADMIRAL,
            CapacitySource,
            FailoverRule,
            FederationSettings,
        )

        base = KUBEADMIRAL if self.planners == "kubeadmiral" else FederationSettings()
        after = self.failover_after
        return replace(
            base,
            namespace=self.namespace,
            health_period=self.health_period,
            health_threshold=self.health_threshold,
            join_timeout=self.join_timeout,
            leave_timeout=self.leave_timeout,
            capacity=CapacitySource(self.capacity),
            performance=_matrix(self.performance),
            failover=FailoverRule(after=after, back_after=after) if after is not None else None,
        )


_OPTIONS: Final = (
    click.option(
        "--on",
        default=CLUSTER,
        metavar="HOST",
        help="cluster or cluster:CONTEXT [cluster: the host kubectl would use].",
    ),
    click.option(
        "--controllers",
        default="",
        metavar="NAME,NAME",
        help="Run only these controllers; run each in one deployment [all].",
    ),
    click.option(
        "--shards",
        type=options.WholeRange(1, 1024),
        default=1,
        metavar="N",
        help="Divide the objects among N processes [1].",
    ),
    click.option(
        "--shard",
        type=options.WholeRange(min=0),
        default=0,
        metavar="N",
        envvar="STRETTO_SHARD",
        help="The shard of this process, from 0 [0; environment: STRETTO_SHARD].",
    ),
    click.option(
        "--planners",
        type=click.Choice(["stretto", "kubeadmiral"]),
        default="stretto",
        help="Division, rollouts, and behaviour without a feasible cluster [stretto].",
    ),
    click.option(
        "--capacity",
        type=click.Choice(["sums", "nodes"]),
        default="sums",
        help="Compute capacity from the sums of a cluster, or from each of its nodes [sums].",
    ),
    click.option(
        "--performance",
        type=options.INPUT_FILE,
        metavar="FILE",
        help="YAML file with the work of one CPU, by service and CPU model.",
    ),
    click.option(
        "--failover-after",
        type=options.FiniteRange(min=0),
        metavar="SECONDS",
        help="Replace the replicas of a cluster that has been lost for this time [never].",
    ),
    click.option(
        "--namespace",
        default="kube-admiral-system",
        metavar="NAME",
        help="The system namespace on the host and in members [kube-admiral-system].",
    ),
    click.option(
        "--health-period",
        type=options.FiniteRange(min=0.1),
        default=30.0,
        metavar="SECONDS",
        help="Time between two health checks of a member [30].",
    ),
    click.option(
        "--health-threshold",
        type=options.FiniteRange(min=0),
        default=100.0,
        metavar="SECONDS",
        help="Time of equal answers after which a member counts as ready or offline [100].",
    ),
    click.option(
        "--join-timeout",
        type=options.FiniteRange(min=1),
        default=600.0,
        metavar="SECONDS",
        help="Give up joining a member after this time [600].",
    ),
    click.option(
        "--leave-timeout",
        type=options.FiniteRange(min=1),
        default=600.0,
        metavar="SECONDS",
        help="Release a cluster that is deleted and does not answer after this time [600].",
    ),
)


def controller_options(body: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of ``ControllerOptions`` in addition to those of every process."""
    for each in reversed(_OPTIONS):
        body = each(body)
    return body


def _matrix(path: Path | None) -> "PerformanceMatrix | None":
    """Read the matrix from a file.

    Raises:
        InputError: the file is not YAML, or an entry is not a positive number.
    """
    if path is None:
        return None
    import yaml

    from stretto.federation.planner.supply.generations import PerformanceMatrix

    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(str(path), None, "YAML", str(error).replace("\n", " ")) from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise InputError(str(path), None, "services, each with the work of one CPU by model")
    return PerformanceMatrix.read(found)
