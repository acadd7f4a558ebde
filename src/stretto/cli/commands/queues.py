"""``stretto queues``: the queue tree of a state, with usage."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.output.formats import ListColumn, write_columns
from stretto.cli.sources.states import StateOptions, old_argument, read_state, state_options
from stretto.explain.words.amounts import format_count
from stretto.state.queues.shape import ROOT

if TYPE_CHECKING:
    from stretto.control.dispatcher.usage_report import QueueFacts

#: Resources shown without ``-v``; the JSON output contains all of them.
SHOWN = ("cpu", "memory", "nvidia.com/gpu")


@options.command(
    "queues",
    StateOptions,
    example="""
        stretto queues
        stretto queues --on examples/queues.yaml
        stretto queues --on sqlite:run.db --json -
        stretto queues --on cluster
    """,
)
@old_argument
@state_options
def queues(common: CommandContext, opts: StateOptions) -> None:
    """Show the queues as a tree: guaranteed, used, borrowed, pending, running.

    A scenario first runs in virtual time; the state is the state at its end.
    """
    import msgspec

    from stretto.cli.output.documents import QueueDocument
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.plane.copy import PlaneCopy

    copy = PlaneCopy(read_state(common, opts).state.counting_use())
    copy.look()
    found = with_implicit_queues(copy.plane.dispatcher.views.queues(), copy.state.records)
    console = common.console
    console.data(f"{copy.state.title}: {format_count(len(found), 'queue')}")
    if not found and opts.reads_cluster:
        console.note("the cluster has no Queue; kubectl apply -f deploy/crds installs the CRD")
    _show(console, found)
    document = QueueDocument(copy.state.title, tuple(found))
    console.json("stretto.queues/v1", msgspec.to_builtins(document))


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
    """Return amounts as one cell; the most important resources come first."""
    names = [name for name in SHOWN if name in amounts]
    if console.verbose:
        names += [name for name in amounts if name not in names]
    return " ".join(f"{amounts[name]} {name.rpartition('/')[2]}" for name in names) or "-"
