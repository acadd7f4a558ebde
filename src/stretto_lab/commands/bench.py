"""``stretto bench``: measure the throughput of this machine."""

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.kernels.tier import measured_tier
from stretto.cli.options import COUNT, POSITIVE, SHARE, CommandContext
from stretto_lab.bench.engine.options import EngineBenchOptions
from stretto_lab.bench.kube.options import (
    KUBE_SCHEDULER,
    LEAST_NODES,
    STRETTO,
    WORKLOADS,
    KubeBenchOptions,
)
from stretto_lab.commands.master_load import offers
from stretto_lab.commands.results import write_plots

bench = click.Group(
    "bench",
    params=options.shared_options(out=False),
    help="Measure the throughput of this machine.",
)


@options.command(
    "engine",
    EngineBenchOptions,
    example="""
        stretto bench engine --nodes 20000 --running 1000000 --pods 50000 --classes 200 \\
            --constrained 0.3 --units 20 --json out.json
        stretto bench engine --nodes 1000 --running 20000 --pods 5000 --rate 0
    """,
)
@click.option("--nodes", type=POSITIVE, default=20_000, show_default=True, help="Nodes.")
@click.option(
    "--running",
    type=COUNT,
    default=1_000_000,
    show_default=True,
    help="Running pods.",
)
@click.option("--pods", type=POSITIVE, default=50_000, show_default=True, help="Pods to place.")
@click.option(
    "--classes", type=POSITIVE, default=200, show_default=True, help="Distinct pod classes."
)
@click.option(
    "--constrained",
    type=SHARE,
    default=0.3,
    show_default=True,
    help="Share of classes with host ports, selectors, affinity or tolerations.",
)
@click.option("--units", type=POSITIVE, default=1, show_default=True, help="Pods per gang.")
@click.option(
    "--shards", type=options.WholeRange(1, 64), default=1, show_default=True, help="Shards."
)
@click.option(
    "--rate",
    type=options.FiniteRange(min=0),
    default=10_000.0,
    show_default=True,
    help="Pods per second in the latency pass; 0 skips it.",
)
@click.option(
    "--seconds",
    type=options.FiniteRange(0.1, 600),
    default=3.0,
    show_default=True,
    help="Length of the latency pass.",
)
@click.option(
    "--rounds",
    type=options.WholeRange(1, 100),
    default=3,
    show_default=True,
    help="Throughput passes; the median is reported.",
)
@click.option("--zones", type=POSITIVE, default=10, show_default=True, help="Zones.")
@click.option(
    "--pending",
    type=COUNT,
    default=0,
    show_default=True,
    help="Pods that fit on no node and stay pending.",
)
@click.option(
    "--store",
    default="memory",
    show_default=True,
    metavar="memory|sqlite:PATH",
    help="Store of the pods.",
)
@click.option(
    "--profile",
    default="default",
    show_default=True,
    metavar="NAME|FILE",
    help="Scheduling profile.",
)
@click.option(
    "--tier",
    type=click.Choice(["auto", "numba", "numpy"]),
    default="auto",
    show_default=True,
    help="Kernels to use.",
)
@click.option(
    "--python-rule",
    type=click.Choice(["", "filter", "score", "domain"]),
    default="",
    metavar="filter|score|domain",
    help="Add a rule that has only a Python form: a filter or a score per slot, or over domains.",
)
@click.option(
    "--measured",
    is_flag=True,
    help="Nodes report their use and promise CPU twice; LoadAware filters and scores.",
)
def engine(common: CommandContext, opts: EngineBenchOptions) -> None:
    """Measure scheduling throughput, from JSON to bind."""
    import msgspec

    from stretto_lab.bench.engine.bench import run_engine_bench

    opts = msgspec.structs.replace(opts, tier=measured_tier(opts.tier, common.console.note))
    common.console.note(f"setting up {opts.nodes:,} nodes and {opts.running:,} running pods")
    found = run_engine_bench(opts, common.seed)
    common.console.json("stretto.bench.engine/v1", msgspec.to_builtins(found))
    rows = [
        ("end to end, pods/s", f"{found.end_to_end_per_s:,.0f}"),
        ("each round, pods/s", ", ".join(f"{each:,.0f}" for each in found.rounds_per_s)),
        ("decoder alone, pods/s", f"{found.decode_only_per_s:,.0f}"),
        ("kernel, us/pod", found.kernel_us_per_pod),
        ("CPU, us/pod", found.cpu_us_per_pod),
        ("latency p50 / p99, ms", f"{found.p50_ms} / {found.p99_ms}"),
        ("peak memory, MB", f"{found.rss_mb:,.0f}"),
        ("bound / not bound", f"{found.bound:,} / {found.unplaced:,}"),
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


@options.command(
    "kube",
    KubeBenchOptions,
    example="""
        stretto bench kube --workload basic,spread --nodes 500 --json out.json
        stretto bench kube --against kube-scheduler --nodes 5000 --json out.json --out out
    """,
    out=True,
)
@click.option(
    "--against",
    type=click.Choice([KUBE_SCHEDULER, "none"]),
    default=KUBE_SCHEDULER,
    show_default=True,
    help="Scheduler to compare with.",
)
@click.option(
    "--workload",
    default=",".join(WORKLOADS),
    metavar="NAME,...",
    help=f"Workloads from {', '.join(WORKLOADS)} [all].",
)
@click.option(
    "--nodes",
    type=options.WholeRange(min=LEAST_NODES),
    default=5000,
    show_default=True,
    help="Nodes; pod counts scale with them.",
)
@click.option(
    "--running",
    type=COUNT,
    default=0,
    show_default=True,
    help="Additional small running pods.",
)
@click.option(
    "--rounds",
    type=options.WholeRange(1, 100),
    default=2,
    show_default=True,
    help="Rounds, each measuring every side once; medians are reported.",
)
@click.option(
    "--rate",
    type=options.FiniteRange(min=1),
    default=50.0,
    show_default=True,
    help="Pods per second in the latency pass.",
)
@click.option(
    "--timeout",
    type=options.FiniteRange(min=1),
    default=60.0,
    show_default=True,
    help="Seconds without a bind after which the rest counts as not placed.",
)
@click.option(
    "--profile",
    default="default",
    show_default=True,
    metavar="NAME|FILE",
    help="Scheduling profile.",
)
@click.option(
    "--both-settings/--one-setting",
    default=True,
    show_default=True,
    help="Measure Stretto without Scheduled events too.",
)
@click.option(
    "--note", default="", metavar="SOURCE", help="Note of the plots: machine and commit [none]."
)
def kube(common: CommandContext, opts: KubeBenchOptions) -> None:
    """Compare Stretto with kube-scheduler on real API servers.

    Both run on the same machine, with the same objects and settings. Missing programs are built
    first, which takes minutes, once. Workloads are like those of Kubernetes' scheduler_perf. Both
    write a Scheduled event for each bound pod; Stretto is also measured without these events.
    """
    from stretto.base.clock import WallClock
    from stretto_lab.bench.kube.bench import WorkloadResult, check, plain, run_kube_bench

    check(opts)
    if common.out is not None:
        from stretto.sim.plots.figures import check_plots
        from stretto_lab.bench.kube.plot import workload_plot

        check_plots()
    measured_tier("auto", common.console.note)  # compile the kernels for the daemons
    found: dict[str, WorkloadResult] = {}
    try:
        for name, result in run_kube_bench(opts, WallClock(), common.console.note):
            found[name] = result
            common.console.json_so_far("stretto.bench.kube/v1", plain(found))
    finally:  # an error or Ctrl-C does not lose the finished workloads
        if found:
            common.console.json("stretto.bench.kube/v1", plain(found))
    heads = ["workload", STRETTO, "no events", KUBE_SCHEDULER, "ratio", "ceiling", "share"]
    heads += ["p50 s", "p99 s", "their p50", "their p99", "CPU us", "MB", "start s", "out"]
    rows = []
    for name, result in found.items():
        ours, theirs = result.stretto, result.kube_scheduler
        quiet = result.stretto_without_events
        row = [name, ours.pods_per_s, quiet and quiet.pods_per_s]
        row += [theirs and theirs.pods_per_s, result.ratio, result.api_ceiling_per_s]
        row += [result.share_of_ceiling, ours.p50_s, ours.p99_s]
        row += [theirs and theirs.p50_s, theirs and theirs.p99_s, ours.cpu_us_per_pod]
        rows.append([*row, ours.rss_mb, ours.start_to_first_binding_s, ours.unbound])
    common.console.table(heads, rows, "pods per second; latency in seconds")
    if common.out is not None:
        for name, result in found.items():
            write_plots(common, workload_plot(name, result, opts.note))


bench.add_command(engine)
bench.add_command(offers)
bench.add_command(kube)
