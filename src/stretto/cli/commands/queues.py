"""``stretto queues`` and ``stretto shards``: usage of queues and shards in a state."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, write_columns
from stretto.cli.sources.states import StateOptions, old_argument, read_state, state_options
from stretto.explain.words.amounts import format_count
from stretto.state.queues.shape import ROOT

if TYPE_CHECKING:
    from stretto.control.dispatcher.usage_report import QueueFacts
    from stretto.explain.metrics.shards import ShardFacts
    from stretto.explain.records.recorder import StepBatch
    from stretto.plane.copy import PlaneCopy

#: Resources shown without ``-v``; the JSON has all of them.
SHOWN = ("cpu", "memory", "nvidia.com/gpu")


@dataclass(frozen=True)
class QueuesOptions(StateOptions):
    """Options of ``queues`` and ``shards``."""

    #: Shards of the cluster's scheduler.
    shards: int = 1


@options.command(
    "queues",
    QueuesOptions,
    example="""
        stretto queues
        stretto queues --on examples/queues.yaml
        stretto queues --on sqlite:run.db --json -
        stretto queues --on cluster
    """,
)
@old_argument
@state_options
def queues(common: CommandContext, opts: QueuesOptions) -> None:
    """Show the queues as a tree: guaranteed, used, borrowed, pending, running.

    A scenario first runs in virtual time; its end is the state.
    """
    import msgspec

    from stretto.explain.why.queues import with_implicit_queues

    copy = _copy(common, opts)
    found = with_implicit_queues(copy.plane.dispatcher.views.queues(), copy.state.records)
    console = common.console
    console.data(f"{copy.state.title}: {format_count(len(found), 'queue')}")
    if not found and opts.reads_cluster:
        console.note("the cluster has no Queue; kubectl apply -f deploy/crds installs the CRD")
    _show(console, found)
    fields = {"state": copy.state.title, "queues": msgspec.to_builtins(found)}
    console.json("stretto.queues/v1", fields)


def _copy(common: CommandContext, opts: QueuesOptions) -> "PlaneCopy":
    """A plane that has read the state and decided nothing."""
    from stretto.plane.copy import PlaneCopy

    copy = PlaneCopy(read_state(common, opts, shards=opts.shards).state.counting_use())
    copy.look()
    return copy


def _show(console: Console, found: "Sequence[QueueFacts]") -> None:
    """Write the tree as a table, then the configuration errors."""
    depth = {"": -1}
    names = []
    for queue in found:
        # Top-level queues are the children of root, which is listed if it is configured.
        parent = queue.parent or (ROOT if ROOT in depth and queue.name != ROOT else "")
        depth[queue.name] = depth.get(parent, -1) + 1
        names.append("  " * depth[queue.name] + queue.name)
    policies = [q.policy + ("" if q.state == "Open" else f", {q.state}") for q in found]
    running = [
        f"{q.running:,}" + ("" if q.max_running is None else f" of {q.max_running:,}")
        for q in found
    ]
    columns = [
        ListColumn("queue", names),
        ListColumn("policy", policies, 6),
        ListColumn("weight", [f"{q.weight:g}" for q in found], 7),
        ListColumn("guarantee", [_amounts(console, q.counted) for q in found], 2),
        ListColumn("limit", [_amounts(console, q.limit) for q in found], 3),
        ListColumn("used", [_amounts(console, q.used) for q in found], 1),
        ListColumn("borrowed", [_amounts(console, q.borrowed) for q in found], 4),
        ListColumn("share", [f"{q.share:.0%}" for q in found]),
        ListColumn("pending", [q.pending for q in found]),
        ListColumn("running", running),
    ]
    write_columns(console, columns, "-v shows all columns")
    for queue in found:
        for fault in queue.faults:
            console.data(f"queue {queue.name}: {fault}")


def _amounts(console: Console, amounts: dict[str, str]) -> str:
    """Amounts in one cell, the most important resources first."""
    names = [name for name in SHOWN if name in amounts]
    if console.verbose:
        names += [name for name in amounts if name not in names]
    return " ".join(f"{amounts[name]} {name.rpartition('/')[2]}" for name in names) or "-"


@options.command(
    "shards",
    QueuesOptions,
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
    type=click.IntRange(1, 64),
    metavar="N",
    help="Number of shards of the cluster's scheduler [1].",
)
@state_options
def shards(common: CommandContext, opts: QueuesOptions) -> None:
    """Show the shards: preferred nodes, scheduling loops and outcomes of decisions.

    Outcomes are known for runs that left a record. A shard has one loop per sub-cluster that
    pending pods name; a pod waits for its loop, independent of the shard that takes it.
    """
    import msgspec

    from stretto.explain.metrics.shards import WaitingWork, shard_facts

    copy = _copy(common, opts)
    numbers = [shard.number for shard in copy.plane.shards]
    steps = [] if opts.reads_cluster else _steps(opts.named)
    work = WaitingWork(copy.plane.units, copy.plane.sub_clusters)
    found = shard_facts(copy.plane.cluster, numbers, steps, work)
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
    console.json(
        "stretto.shards/v1", {"state": copy.state.title, "shards": msgspec.to_builtins(found)}
    )


def _row(each: "ShardFacts") -> tuple[object, ...]:
    return each.shard, each.nodes, f"{each.cpu_share:.0%}"


def _outcomes(each: "ShardFacts") -> tuple[object, ...]:
    return each.placed, each.refused, each.no_place


def _steps(state: str) -> list["StepBatch"]:
    """The steps of a record; empty if the state is no record."""
    from stretto.explain.records.record_file import RecordFile
    from stretto.sim.history.state_source import StateKind, referenced

    kind, path = referenced(state)
    if kind is not StateKind.RUN:
        return []
    with closing(RecordFile(path)) as file:
        return list(file.all_steps())
