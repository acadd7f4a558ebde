"""``stretto queues`` and ``stretto shards``: usage of queues and shards in a state."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.cluster_source import PROFILE, ClusterOptions, cluster_options, state_in
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.control.dispatcher.usage_report import QueueFacts
    from stretto.explain.metrics.shards import ShardFacts
    from stretto.explain.records.recorder import StepBatch
    from stretto.plane.copy import PlaneCopy

#: Resources shown without ``-v``; the JSON has all of them.
SHOWN = ("cpu", "memory", "nvidia.com/gpu")


@dataclass(frozen=True)
class QueuesOptions(ClusterOptions):
    """Options of ``queues`` and ``shards``."""

    #: The state: ``sqlite:PATH``, a scenario file or a run record; empty for the latest record.
    state: str
    #: Shards of the cluster's scheduler.
    shards: int = 1


@options.command(
    "queues",
    QueuesOptions,
    example="""
        stretto queues
        stretto queues examples/queues.yaml
        stretto queues sqlite:run.db --json -
        stretto queues --cluster
    """,
)
@click.argument("state", required=False, default="", metavar="[RUN|SCENARIO|sqlite:PATH]")
@cluster_options
@PROFILE
def queues(common: CommandContext, opts: QueuesOptions) -> None:
    """Show the queues as a tree: guaranteed, used, borrowed, pending, running.

    The state is the end of a run from its record (by default the latest), a durable store, a
    cluster (--cluster), or the end of a scenario, which first runs in virtual time.
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
    from stretto.sim.history.state_source import state_of

    opts.check("STATE", opts.state)
    if opts.reads_cluster:
        copy = PlaneCopy(state_in(common, opts, opts.shards).state)
    else:
        copy = PlaneCopy(state_of(opts.state))
    copy.look()
    return copy


def _show(console: Console, found: "Sequence[QueueFacts]") -> None:
    """Write the tree as a table, then the configuration errors."""
    depth = {"": -1}
    rows = []
    for queue in found:
        depth[queue.name] = depth.get(queue.parent, -1) + 1
        most = "" if queue.max_running is None else f" of {queue.max_running:,}"
        rows.append(
            (
                "  " * depth[queue.name] + queue.name,
                queue.policy + ("" if queue.state == "Open" else f", {queue.state}"),
                f"{queue.weight:g}",
                _amounts(console, queue.counted),
                _amounts(console, queue.limit),
                _amounts(console, queue.used),
                _amounts(console, queue.borrowed),
                f"{queue.share:.0%}",
                queue.pending,
                f"{queue.running:,}{most}",
            )
        )
    head = ["queue", "policy", "weight", "guarantee", "limit", "used", "borrowed", "share"]
    console.table([*head, "pending", "running"], rows)
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
        stretto shards quickstart --json -
        stretto shards --cluster --shards 4
    """,
)
@click.argument("state", required=False, default="", metavar="[RUN|SCENARIO|sqlite:PATH]")
@click.option(
    "--shards",
    default=1,
    type=click.IntRange(1, 64),
    metavar="N",
    help="Number of shards of the cluster's scheduler [1].",
)
@cluster_options
@PROFILE
def shards(common: CommandContext, opts: QueuesOptions) -> None:
    """Show the shards: preferred nodes, scheduling loops and outcomes of decisions.

    Outcomes are known for runs that left a record. A shard has one loop per sub-cluster that
    pending pods name; a pod waits for its loop, independent of the shard that takes it.
    """
    import msgspec

    from stretto.explain.metrics.shards import WaitingWork, shard_facts

    copy = _copy(common, opts)
    numbers = [shard.number for shard in copy.plane.shards]
    steps = [] if opts.reads_cluster else _steps(opts.state)
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
    from stretto.explain.records.records import RunRecords
    from stretto.sim.history.state_source import SQLITE

    if state.startswith(SQLITE) or (state.endswith((".yaml", ".yml")) and Path(state).is_file()):
        return []
    with closing(RecordFile(RunRecords().find(state))) as file:
        return list(file.all_steps())
