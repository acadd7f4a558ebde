"""``stretto bench offers``: a master under load."""

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.options import POSITIVE, CommandContext
from stretto_lab.bench.offers.options import OfferBenchOptions


@options.command(
    "offers",
    OfferBenchOptions,
    example="""
        stretto bench offers --json out.json
        stretto bench offers --frameworks 100 --agents 50 --seconds 5 --mesos
    """,
)
@click.option(
    "--frameworks", type=POSITIVE, default=1000, show_default=True, help="Frameworks with streams."
)
@click.option(
    "--agents", type=POSITIVE, default=200, show_default=True, help="Agents with streams."
)
@click.option(
    "--seconds",
    type=options.FiniteRange(0.5, 600),
    default=20.0,
    show_default=True,
    help="Measured time.",
)
@click.option(
    "--warm-up",
    type=options.FiniteRange(0.5, 600),
    default=5.0,
    show_default=True,
    help="Seconds before the measurement, in which all clients connect.",
)
@click.option("--mesos", is_flag=True, help="The master offers exactly as Mesos 1.11 does.")
def offers(common: CommandContext, opts: OfferBenchOptions) -> None:
    """Measure a master under the load of many frameworks, over HTTP.

    The master runs in a separate process. Each framework has a stream and one call at a time: it
    launches a task on the first offer of each event, declines the others and acknowledges updates.
    Tasks end as soon as they are launched. A call that is not accepted fails the check.
    """
    import msgspec

    from stretto.base.clock import WallClock
    from stretto_lab.bench.offers.bench import run_offer_bench

    common.console.note(f"{opts.frameworks:,} frameworks and {opts.agents:,} agents connect")
    found = run_offer_bench(opts, WallClock(), common.seed)
    common.console.json("stretto.bench.offers/v1", msgspec.to_builtins(found))
    rows = [
        ("calls/s", f"{found.calls_per_s:,.0f}"),
        ("calls/s of CPU time", f"{found.calls_per_cpu_s:,.0f}"),
        ("ACCEPT p50 / p99, ms", f"{found.accept_p50_ms:.1f} / {found.accept_p99_ms:.1f}"),
        ("offers/s", f"{found.offers_per_s:,.0f}"),
        ("tasks/s", f"{found.tasks_per_s:,.0f}"),
        ("cores of master / load", f"{found.master_cores:.2f} / {found.load_cores:.2f}"),
        ("memory of the master, MB", f"{found.master_mb:,.0f}"),
    ]
    common.console.table(["offers", ""], rows)
    if found.refused:
        raise CheckFailedError("calls of frameworks", f"{found.refused:,} were not accepted")
