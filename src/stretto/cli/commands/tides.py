"""``stretto tides``.

The nodes of tidal pools that would switch on a state, when and at whose cost.
"""

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
    from stretto.sim.fitting.tides import TideReport


@dataclass(frozen=True)
class TidesOptions(StateOptions):
    """Options of ``tides``."""

    tries_profiles = True
    #: Manifests of additional pools, workloads and pods.
    manifests: tuple[Path, ...]
    #: Duration of the trial in virtual seconds.
    seconds: float
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@options.command(
    "tides",
    TidesOptions,
    example="""
        stretto tides examples/tides/morning.yaml --on examples/tides.yaml --for 1800
        stretto tides more-pods.yaml --on cluster
    """,
)
@click.argument("manifests", nargs=-1, type=options.INPUT_FILE)
@click.option(
    "--for",
    "seconds",
    type=options.FiniteRange(1.0, 604_800.0),
    default=1800.0,
    metavar="SECONDS",
    help="Virtual time of the trial [1800].",
)
@options.TIER
@NAMESPACE
@state_options
def tides(common: CommandContext, opts: TidesOptions) -> None:
    """Show which nodes of TideNodePools would switch on a state, when and at whose cost.

    MANIFESTS contain pools, workloads and pods that are not in the state. The real controllers and
    the real scheduler act on a copy of the state in virtual time; nothing is written. Exits with 3
    if online pods are left without a node.
    """
    import msgspec

    from stretto.sim.fitting.tides import SCHEMA, try_tides

    kernels = manifest_rules(common, opts, opts.tier, opts.manifests)
    state, namespace = read_state(common, opts, kernels)
    objects = added_objects(opts.manifests, opts.namespace, namespace)
    report = try_tides(state, objects, opts.seconds, rules_of(state, "", kernels.tier, ()))
    _show(common.console, report)
    common.console.json(SCHEMA, msgspec.to_builtins(report))
    if report.pending:
        count = len(report.pending)
        raise DoesNotFitError(f"{count} online pods", "add nodes to the pool, or lower its reserve")


def _show(console: Console, report: "TideReport") -> None:
    console.data(f"On the {report.state}, in {report.seconds:,.0f} s:")
    if report.switches:
        from stretto.sim.report import switch_table

        table = switch_table(report.switches)
        console.table(table.columns, table.rows)
    else:
        console.data("No node switches.")
    for pool in report.pools:
        counts = ", ".join(f"{count} {role}" for role, count in pool.nodes.items())
        console.data(f"{pool.pool}: {counts}.")
