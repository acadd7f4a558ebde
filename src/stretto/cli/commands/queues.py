"""``stretto queues`` and ``stretto shards``: who has what, in a state of the past."""

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
    from stretto.sim.history.sandbox import Sandbox

#: Resources that are shown without ``-v``: who wants all of them reads the JSON.
SHOWN = ("cpu", "memory", "nvidia.com/gpu")


@dataclass(frozen=True)
class QueuesOptions(ClusterOptions):
    """Options of ``queues`` and ``shards``."""

    #: ``sqlite:PATH``, a scenario's file, or a run record; empty for the latest record.
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
def queues(common: CommandContext, asked: QueuesOptions) -> None:
    """Show the queues as a tree: guaranteed, used, borrowed, waiting, running.

    Of the end of a run by its record (the latest unless one is named), of a store as it lies on
    disk, of a cluster as it is now (--cluster), or of the end of a scenario, which is run in
    virtual time first.
    """
    import msgspec

    from stretto.explain.why.queues import with_implicit_queues

    copy = _copy(common, asked)
    found = with_implicit_queues(copy.plane.dispatcher.views.queues(), copy.state.records)
    console = common.console
    console.data(f"{copy.state.title}: {format_count(len(found), 'queue')}")
    if not found and asked.reads_cluster:
        console.note("no Queue is there; kubectl apply -f deploy/crds brings the kind")
    _show(console, found)
    told = {"state": copy.state.title, "queues": msgspec.to_builtins(found)}
    console.json("stretto.queues/v1", told)


def _copy(common: CommandContext, asked: QueuesOptions) -> "Sandbox":
    """A plane that has looked at the state, and decided nothing."""
    from stretto.sim.history.sandbox import Sandbox, state_of

    asked.check("STATE", asked.state)
    if asked.reads_cluster:
        copy = Sandbox(state_in(common, asked, asked.shards).state)
    else:
        copy = Sandbox(state_of(asked.state))
    copy.look()
    return copy


def _show(console: Console, found: "Sequence[QueueFacts]") -> None:
    """The tree as a table, then what is not as written."""
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
    console.table([*head, "waiting", "running"], rows)
    for queue in found:
        for fault in queue.faults:
            console.data(f"queue {queue.name}: {fault}")


def _amounts(console: Console, amounts: dict[str, str]) -> str:
    """Amounts in one cell, the resources that matter most first."""
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
    help="Shards of the cluster's scheduler [1].",
)
@cluster_options
@PROFILE
def shards(common: CommandContext, asked: QueuesOptions) -> None:
    """Show the shards: which nodes each tries first, its loops, what became of its decisions.

    What became of them is known of runs that left a record. A shard has a loop for each sub-cluster
    that waiting pods name; whichever shard takes a pod, it waits for that loop.
    """
    import msgspec

    from stretto.explain.metrics.shards import WaitingWork, shard_facts

    copy = _copy(common, asked)
    numbers = [shard.number for shard in copy.plane.shards]
    steps = [] if asked.reads_cluster else _steps(asked.state)
    work = WaitingWork(copy.plane.units, copy.plane.sub_clusters)
    found = shard_facts(copy.plane.cluster, numbers, steps, work)
    console = common.console
    console.data(f"{copy.state.title}: {format_count(len(found), 'shard')}")
    head, rows = ["shard", "nodes", "of all CPU"], [_row(each) for each in found]
    if steps:
        head += ["placed", "refused", "no place"]
        rows = [(*row, *_deeds(each)) for row, each in zip(rows, found, strict=True)]
    console.table(head, rows)
    if work.sub_clusters is not None:
        loops = [
            (each.shard, loop.sub_cluster or "(all)", loop.nodes, loop.waiting)
            for each in found
            for loop in each.loops
        ]
        console.table(["shard", "sub-cluster", "nodes", "waiting"], loops)
    console.json(
        "stretto.shards/v1", {"state": copy.state.title, "shards": msgspec.to_builtins(found)}
    )


def _row(each: "ShardFacts") -> tuple[object, ...]:
    return each.shard, each.nodes, f"{each.cpu_share:.0%}"


def _deeds(each: "ShardFacts") -> tuple[object, ...]:
    return each.placed, each.refused, each.no_place


def _steps(state: str) -> list["StepBatch"]:
    """What a record says of each shard's decisions; nothing where the state is no record."""
    from stretto.explain.records.record_file import RecordFile
    from stretto.explain.records.records import RunRecords
    from stretto.sim.history.sandbox import SQLITE

    if state.startswith(SQLITE) or (state.endswith((".yaml", ".yml")) and Path(state).is_file()):
        return []
    with closing(RecordFile(RunRecords().find(state))) as file:
        return list(file.all_steps())
