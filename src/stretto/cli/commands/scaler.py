"""``stretto scaler``: the controllers of replicas, tidal nodes and requests of a cluster."""

from dataclasses import dataclass

import click

from stretto.cli import options
from stretto.cli.daemon_options import ProcessOptions, process_options
from stretto.cli.options import CommandContext
from stretto.cli.parts.leading import ControllerProcess

_PARTS = ("scaling", "tides", "overcommit", "vertical")


@dataclass(frozen=True, kw_only=True)
class ScalerOptions(ProcessOptions):
    """Options of ``scaler``."""

    #: Context of the kubeconfig; empty for its current one.
    context: str
    #: Names of the controllers to run; empty for all.
    controllers: tuple[str, ...]
    #: Scheduling profile for trials of switches: a name or a file.
    profile: str
    #: ``schedulerName`` values of pods that a trial places; empty for the profile's.
    scheduler_name: tuple[str, ...]
    #: Name of the recommender in ``spec.recommenders`` of VerticalPodAutoscalers.
    recommender_name: str


@options.command(
    "scaler",
    ScalerOptions,
    example="""
        stretto scaler --kubeconfig ~/.kube/config
        stretto scaler --controller tides --profile kube-parity --scheduler-name default-scheduler
    """,
    result=False,
)
@options.CONTEXT
@click.option(
    "--controller",
    "controllers",
    multiple=True,
    type=click.Choice(_PARTS),
    help="Run this controller; may be repeated [all].",
)
@click.option(
    "--profile",
    default="default",
    metavar="NAME|FILE",
    shell_complete=options.completes("profiles"),
    help="Scheduling profile for trials of switches of tidal pools [default].",
)
@click.option(
    "--scheduler-name",
    multiple=True,
    metavar="NAME",
    help="A trial places pods with this schedulerName; may be repeated [the profile's].",
)
@click.option(
    "--recommender-name",
    default="default",
    metavar="NAME",
    help="Recommend for VerticalPodAutoscalers that name this recommender; default also stands "
    "for those that name none [default].",
)
@process_options(10751, "kube-system/stretto-scaler")
def scaler(common: CommandContext, opts: ScalerOptions) -> None:
    """Divide the replicas of ScalingPolicies and switch the nodes of TideNodePools of a cluster.

    The command also lists the nodes of NodeOvercommitConfigs in their status, and recommends the
    requests of containers in the status of VerticalPodAutoscalers.

    Several instances can run: the holder of the lease acts, the others are standbys. SIGTERM or
    Ctrl-C stops it gracefully. deploy/scaler.yaml runs it in the cluster, with the rights of
    deploy/rbac-scaler.yaml.
    """
    from stretto.base.clock import WallClock
    from stretto.daemons.controllers.scaler import ScalerConfig, ScalerPart, ScalerTerms
    from stretto.daemons.scheduler import plane_config
    from stretto.framework.profile.profile import load_profile

    clock = WallClock()
    log = opts.log(clock)
    parts = frozenset(map(ScalerPart, opts.controllers or _PARTS))
    plane = plane_config(load_profile(opts.profile), opts.scheduler_name, 1, "numpy", None)
    config = ScalerConfig(parts, plane, opts.recommender_name)
    process = ControllerProcess(opts, opts.context, opts.lease_name(), common.seed)
    log.info("scaling", controllers=",".join(sorted(parts)))
    process.run(ScalerTerms(config, clock).start, clock, log)
