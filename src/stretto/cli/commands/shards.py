"""``stretto shards``: the shards of a state, their nodes and their decisions."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, old_argument, read_state, state_options
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.explain.metrics.shards import ShardFacts
    from stretto.explain.records.recorder import StepBatch


@dataclass(frozen=True)
class ShardsOptions(StateOptions):
    """Options of ``shards``."""

    #: Number of shards of the scheduler of the cluster.
    shards: int = 1


@options.command(
    "shards",
    ShardsOptions,
    example="""
        stretto shards
        stretto shards --on quickstart --json -
        stretto shards --on cluster --shards 4
    """,
)
@old_argument
@click.option(
    "--shards",
    default=1,
    type=options.WholeRange(1, 64),
    metavar="N",
    help="Number of shards of the cluster's scheduler [1].",
)
@state_options
def shards(common: CommandContext, opts: ShardsOptions) -> None:
    """Show the shards: preferred nodes, scheduling loops and outcomes of decisions.

    Outcomes are known for runs that left a record. A shard has one loop for each sub-cluster of
    pending pods; a pod waits for the loop of its sub-cluster in any shard.
    """
    import msgspec

    from stretto.cli.output.documents import ShardDocument
    from stretto.explain.metrics.shards import WaitingWork, outcomes_of, shard_facts
    from stretto.plane.copy import PlaneCopy

    copy = PlaneCopy(read_state(common, opts, shards=opts.shards).state)
    copy.look()
    numbers = [shard.number for shard in copy.plane.shards]
    steps = [] if opts.reads_cluster else _steps(opts.named)
    work = WaitingWork(copy.plane.units, copy.plane.sub_clusters)
    found = shard_facts(copy.plane.cluster, numbers, outcomes_of(steps), work)
    console = common.console
    console.data(f"{copy.state.title}: {format_count(len(found), 'shard')}")
    head, rows = ["shard", "nodes", "of all CPU"], [_row(each) for each in found]
    if steps:
        head += ["placed", "refused", "no place"]
        rows = [(*row, *_outcomes(each)) for row, each in zip(rows, found, strict=True)]
    console.table(head, rows)
    if work.sub_clusters is not None:
        loops = [
            (each.shard, loop.sub_cluster or "(all)", loop.nodes, loop.waiting)
            for each in found
            for loop in each.loops
        ]
        console.table(["shard", "sub-cluster", "nodes", "pending"], loops)
    document = ShardDocument(copy.state.title, tuple(found))
    console.json("stretto.shards/v1", msgspec.to_builtins(document))


def _row(each: "ShardFacts") -> tuple[object, ...]:
    return each.shard, each.nodes, f"{each.cpu_share:.0%}"


def _outcomes(each: "ShardFacts") -> tuple[object, ...]:
    return each.placed, each.refused, each.no_place


def _steps(state: str) -> list["StepBatch"]:
    """Return the steps of a record; empty if the state is not a record."""
    from stretto.explain.records.record_file import RecordFile
    from stretto.sim.states.source import StateKind, referenced

    kind, path = referenced(state)
    if kind is not StateKind.RUN:
        return []
    with closing(RecordFile(path)) as file:
        return list(file.all_steps())
