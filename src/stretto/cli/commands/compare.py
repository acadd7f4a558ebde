"""``stretto compare``: policies against seeds over a trace, by the published protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import InputError
from stretto.cli import options, sinks
from stretto.cli.commands.replaying import (
    VARYING,
    WhatIfOptions,
    compare_recording,
    refuse_options,
    what_if_options,
)
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import INPUT_FILE, CommandContext

if TYPE_CHECKING:
    from stretto.sim.comparison.published import Curves
    from stretto.sim.comparison.scene import StudyRunSpec as AskedRun
    from stretto.sim.comparison.seeds import Comparison

FILE: Final = "file"
"""Spelling of "as the file has it", for the order and for how much arrives."""
_OF_TRACES: Final = (
    "format", "nodes", "pods", "seeds", "arrive", "order", "published", "workers",
)  # fmt: skip
"""Options that a recording has no use for."""
SHOWN_PCT: Final = 100
"""Percent of arrival that tables show beside the last."""


@dataclass(frozen=True)
class CompareOptions:
    """Options of ``compare``."""

    #: A recording; ``None`` where a trace is meant.
    recording: Path | None
    #: Format of the trace; ``None`` where a recording is meant.
    format: str | None
    #: The node list.
    nodes: Path | None
    #: The pod list.
    pods: Path | None
    #: The policies; empty for all of the study.
    policy: tuple[str, ...]
    #: The seeds; ``None`` for the published ones.
    seeds: str | None
    #: How far to fill, in percent, or ``file``.
    arrive: str
    #: ``shuffle`` or ``file``.
    order: str
    #: The published curves.
    published: Path | None
    #: Processes; 0 for one a core.
    workers: int
    #: Profile; empty for the default one.
    profile: str
    #: Scheduler shards.
    shards: int
    #: More nodes.
    add_nodes: tuple[str, ...]
    #: Nodes that are emptied.
    drain: tuple[str, ...]
    #: More pods.
    burst: tuple[str, ...]
    #: Other queues.
    queue_share: tuple[str, ...]
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]


@options.command(
    "compare",
    CompareOptions,
    example="""
        stretto compare --format openb --nodes N.csv --pods P.csv --policy fgd --policy best-fit \\
            --seeds 42,43,44 --arrive 130 --json out.json
        stretto compare --format openb --nodes N.csv --pods P.csv \\
            --order file --arrive file --seeds 0
        stretto compare --format openb --nodes N.csv --pods P.csv \\
            --published published_fgd_results.csv --out plots
        stretto compare monday.jsonl.gz --policy packing --add-nodes worker-1:20 --out plots
    """,
    out=True,
)
@click.argument("recording", type=INPUT_FILE, required=False)
@click.option("--format", type=click.Choice(["openb"]), help="Format of the trace.")
@click.option("--nodes", type=INPUT_FILE, help="The node list.")
@click.option("--pods", type=INPUT_FILE, help="The pod list.")
@click.option(
    "--policy", multiple=True, metavar="NAME", help="May be repeated [all six of the study]."
)
@click.option("--seeds", metavar="N,N-M", help="One run a seed and policy [42-51, as published].")
@click.option(
    "--arrive",
    default="130",
    show_default=True,
    metavar="PCT|file",
    help="Fill until so many percent of the GPUs have been asked for; file takes the list as is.",
)
@click.option(
    "--order",
    type=click.Choice(["shuffle", FILE]),
    default="shuffle",
    show_default=True,
    help="Order of nodes and pods; file goes by node name and by row.",
)
@click.option("--published", type=INPUT_FILE, help="Published curves to show beside ours (CSV).")
@click.option("--workers", type=options.COUNT, default=0, help="Processes [one a core].")
@what_if_options
def compare(common: CommandContext, asked: CompareOptions) -> None:
    """Run policies over a trace, a run for each seed, and say how they compare.

    The protocol is that of the openb study: the nodes in an order of the seed, the pods shuffled
    and tuned to --arrive, placed one after another by the real plane; what does not fit is dropped.

    With a recording of a cluster (stretto record): as it was, beside what if.
    """
    tier_of("auto", common.console.note)  # starts the compiler where kernels are missing
    if asked.recording is not None:
        refuse_options(_OF_TRACES, "no such option with a recording", "it is for traces")
        words = (asked.add_nodes, asked.drain, asked.burst, asked.queue_share, asked.plugin)
        compare_recording(
            common,
            WhatIfOptions(asked.recording, asked.policy, asked.profile, asked.shards, *words),
        )
        return
    _study(common, asked)


def _study(common: CommandContext, asked: CompareOptions) -> None:
    """The openb study."""
    import msgspec

    from stretto.inputs.traces.openb.reader import load_openb
    from stretto.sim.comparison.seeds import compare as run_all

    if asked.format is None or asked.nodes is None or asked.pods is None:
        hint = "or name a recording: stretto compare FILE"
        raise InputError("--format, --nodes, --pods", None, "all three for a trace", hint)
    refuse_options((*VARYING, "shards"), "a recording to vary", "stretto compare FILE")
    if common.out is not None:
        from stretto.sim.plots import check_plots

        check_plots()
    runs = _runs(common, asked)
    curves = _curves(asked)
    fleet = load_openb(asked.nodes, asked.pods)
    with common.console.progress("compare", len(runs)) as bar:
        done = 0

        def told(run: Any) -> None:
            nonlocal done
            done += 1
            bar.update(done, f"{run.policy}, seed {run.seed}")

        found = run_all(fleet, runs, asked.workers, told)
    _show(common, found, curves)
    common.console.json("stretto.compare/v1", msgspec.to_builtins(found))
    if common.out is not None:
        _plot(common, found, curves)
    if found.partial:
        raise KeyboardInterrupt


def _runs(common: CommandContext, asked: CompareOptions) -> "list[AskedRun]":
    """Every run that is asked for, policy by policy."""
    from stretto.inputs.traces.openb.protocol import PUBLISHED_SEEDS, ArrivalOrder
    from stretto.sim.comparison.scene import StudyRunSpec as AskedRun
    from stretto.sim.comparison.seeds import read_seeds
    from stretto.sim.policies import STUDY, check_policies

    policies = check_policies(asked.policy or STUDY)
    if asked.seeds is not None:
        seeds = read_seeds(asked.seeds, "--seeds")
    else:
        seeds = (common.seed,) if common.seed_given else PUBLISHED_SEEDS
    arrive, order = _percent(asked.arrive), ArrivalOrder(asked.order)
    return [AskedRun(policy, seed, arrive, order) for policy in policies for seed in seeds]


def _percent(text: str) -> float | None:
    """How far to fill; ``None`` takes the list as it is."""
    from stretto.inputs.traces.openb.protocol import MAX_ARRIVE_PCT

    if text == FILE:
        return None
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 < percent <= MAX_ARRIVE_PCT:
        expected = f"a percentage above 0, at most {MAX_ARRIVE_PCT:g}, or the word {FILE}"
        raise InputError("--arrive", text, expected)
    return percent


def _curves(asked: CompareOptions) -> "Curves | None":
    """The published curves of this pod list."""
    from stretto.sim.comparison.published import read_published, workload_of

    if asked.published is None or asked.pods is None:
        return None
    return read_published(asked.published, workload_of(asked.pods))


def _show(common: CommandContext, found: "Comparison", curves: "Curves | None") -> None:
    """Policies × percent of arrival as a table, the published figures beside."""
    from stretto.sim.comparison.published import METRICS

    columns = ["policy", "seeds", "arrived %", "GPU allocated %", "sd", "fragmented %"]
    if curves:
        columns += ["published %", "difference"]
    last = max((each.arrive_pct for each in found.summary), default=0)
    rows: list[Sequence[object]] = []
    for each in found.summary:
        if each.arrive_pct not in {min(SHOWN_PCT, last), last}:
            continue
        seeds = sum(run.policy == each.policy for run in found.runs)
        mean, spread = each.gpu_alloc_pct_mean, each.gpu_alloc_pct_sd
        row = [each.policy, seeds, each.arrive_pct, mean, spread, each.frag_pct_of_cluster_mean]
        if curves:
            theirs = curves.get(each.policy, {}).get(METRICS[0], {}).get(each.arrive_pct)
            row += [theirs, None if theirs is None else mean - theirs]
        rows.append(row)
    common.console.table(columns, rows)


def _plot(common: CommandContext, found: "Comparison", curves: "Curves | None") -> None:
    """The curves as pictures in the output folder."""
    from stretto.sim.comparison.plots import study_plots

    assert common.out is not None
    for name, picture in study_plots(found.summary, curves).items():
        target = common.out / name
        sinks.write_whole(target, picture)
        common.console.note(f"plot: {target}")


command = compare
