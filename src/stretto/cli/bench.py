"""``stretto bench``: what this machine can do."""

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.options import Common
from stretto.lab.asked import EngineBench

SHARE = click.FloatRange(0, 1)
POSITIVE = click.IntRange(min=1)


bench = click.Group(
    "bench",
    params=options.shared_options(out=False),
    help="Measure what this machine can do.",
)


@options.command(
    "engine",
    EngineBench,
    example="""
        stretto bench engine --nodes 20000 --running 1000000 --pods 50000 --classes 200 \\
            --constrained 0.3 --units 20 --json out.json
        stretto bench engine --nodes 1000 --running 20000 --pods 5000 --rate 0
    """,
)
@click.option("--nodes", type=POSITIVE, default=20_000, show_default=True, help="Nodes.")
@click.option(
    "--running",
    type=click.IntRange(min=0),
    default=1_000_000,
    show_default=True,
    help="Pods that run already.",
)
@click.option("--pods", type=POSITIVE, default=50_000, show_default=True, help="Pods to place.")
@click.option("--classes", type=POSITIVE, default=200, show_default=True, help="Different specs.")
@click.option(
    "--constrained",
    type=SHARE,
    default=0.3,
    show_default=True,
    help="Share of classes with host ports, selectors, affinity or tolerations.",
)
@click.option("--units", type=POSITIVE, default=1, show_default=True, help="Pods per gang.")
@click.option("--shards", type=click.IntRange(1, 64), default=1, show_default=True, help="Shards.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    default=10_000.0,
    show_default=True,
    help="Pods a second in the latency pass; 0 leaves it out.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 600),
    default=3.0,
    show_default=True,
    help="Length of the latency pass.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Throughput passes; the median is reported.",
)
@click.option("--zones", type=POSITIVE, default=10, show_default=True, help="Zones.")
@click.option(
    "--store",
    default="memory",
    show_default=True,
    metavar="memory|sqlite:PATH",
    help="Store that the pods go through.",
)
@click.option("--profile", default="default", show_default=True, metavar="NAME|FILE")
@click.option(
    "--tier",
    type=click.Choice(["auto", "numba", "numpy"]),
    default="auto",
    show_default=True,
    help="Kernels to use.",
)
def engine(common: Common, asked: EngineBench) -> None:
    """Place pods from JSON in hand to bound in the store, beside a million that run."""
    import msgspec

    from stretto.lab.engine import run_engine_bench

    common.console.note(f"setting up {asked.nodes:,} nodes and {asked.running:,} running pods")
    found = run_engine_bench(asked, common.seed)
    common.console.json("stretto.bench.engine/v1", msgspec.to_builtins(found))
    rows = [
        ("end to end, pods/s", f"{found.end_to_end_per_s:,.0f}"),
        ("of all rounds", ", ".join(f"{each:,.0f}" for each in found.rounds_per_s)),
        ("decoder alone, pods/s", f"{found.decode_only_per_s:,.0f}"),
        ("kernel, us/pod", found.kernel_us_per_pod),
        ("CPU, us/pod", found.cpu_us_per_pod),
        ("latency p50 / p99, ms", f"{found.p50_ms} / {found.p99_ms}"),
        ("peak memory, MB", f"{found.rss_mb:,.0f}"),
        ("bound / without a place", f"{found.bound:,} / {found.unplaced:,}"),
        ("conflicts", f"{found.conflicts:.2%}"),
        ("equal to the reference", "yes" if found.equal_to_reference else "NO"),
    ]
    common.console.table(["engine", ""], rows)
    stages = sorted(found.stages.items(), key=lambda each: -each[1])
    common.console.table(["stage", "share"], [(name, f"{part:.1%}") for name, part in stages])
    if not found.equal_to_reference:
        raise CheckFailedError(
            "fast results against the reference", "a class of the sample differs"
        )


bench.add_command(engine)
