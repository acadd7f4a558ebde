"""``stretto scale``: the division of the replicas of a ScalingPolicy on a state."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import DoesNotFitError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.sources.kernels import manifest_rules
from stretto.cli.sources.states import (
    NAMESPACE,
    StateOptions,
    added_objects,
    read_state,
    rules_of,
    state_options,
)

if TYPE_CHECKING:
    from stretto.sim.fitting.scaling import ScalingTrial


@dataclass(frozen=True)
class ScaleOptions(StateOptions):
    """Options of ``scale``."""

    tries_profiles = True
    #: The manifest of policies and of additional workloads.
    manifest: Path
    #: Replicas of each policy; ``None`` for those of its spec.
    replicas: int | None
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@options.command(
    "scale",
    ScaleOptions,
    example="""
        stretto scale examples/scaling/web.yaml --on examples/scaling.yaml
        stretto scale policy.yaml --replicas 40 --on cluster
    """,
)
@click.argument("manifest", type=options.INPUT_FILE)
@click.option(
    "--replicas",
    type=options.WholeRange(0, 1_000_000),
    metavar="N",
    help="Replicas of each policy [those of its spec].",
)
@options.TIER
@NAMESPACE
@state_options
def scale(common: CommandContext, opts: ScaleOptions) -> None:
    """Show how ScalingPolicies would divide replicas on a state.

    MANIFEST contains policies, and workloads that are not in the state. The real controllers and
    the real scheduler act on a copy of the state; nothing is written. Exits with 3 if replicas are
    left without a group.
    """
    import msgspec

    from stretto.sim.fitting.scaling import SCHEMA, ScaleReport, try_scaling

    kernels = manifest_rules(common, opts, opts.tier, [opts.manifest])
    state, namespace = read_state(common, opts, kernels)
    objects = added_objects([opts.manifest], opts.namespace, namespace)
    trials = try_scaling(state, objects, opts.replicas, rules_of(state, "", kernels.tier, ()))
    for each in trials:
        _show(common.console, state.title, each)
    common.console.json(SCHEMA, msgspec.to_builtins(ScaleReport(state.title, tuple(trials))))
    if any(each.unmet for each in trials):
        missing = [e.workload for each in trials for e in each.groups if e.before is None]
        hint = "raise max, or add nodes: `stretto capacity --buy`"
        if missing:
            hint = f"add {', '.join(missing)} to MANIFEST or to the state"
        raise DoesNotFitError("the replicas", hint)


def _show(console: Console, title: str, trial: "ScalingTrial") -> None:
    console.data(f"On the {title}, {trial.wanted:,} replicas of {trial.policy}:")
    rows = [
        (
            each.name,
            each.workload,
            "missing" if each.before is None else each.before,
            each.replicas,
            each.placed,
            "" if each.fits is None else f"{each.fits} fit",
        )
        for each in trial.groups
    ]
    console.table(["group", "workload", "before", "after", "on nodes", "limit"], rows)
    if trial.message:
        console.data(f"{trial.message}.")
