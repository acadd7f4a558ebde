"""``stretto capacity``.

Number of copies of a pod that fit, and number of nodes that would be enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from stretto.base.errors import DoesNotFitError, InputError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.sources.kernels import manifest_rules
from stretto.cli.sources.states import (
    NAMESPACE,
    StateOptions,
    read_state,
    rules_of,
    state_options,
)

if TYPE_CHECKING:
    from stretto.sim.fitting.trials import FitAnswer, FitQuestion, FitReport

MOST_BOUGHT: Final = 100_000
"""Maximum number of pods for which nodes are added: placing a pod takes about 2 ms and 30 kB."""
MOST_SEEDS: Final = 1_000
"""Maximum number of orders of removal: each one places all running pods several times."""
MOST_PODS: Final = 1_000_000
"""Maximum number of counted pods."""


@dataclass(frozen=True)
class CapacityOptions(StateOptions):
    """Options of ``capacity``."""

    tries_profiles = True
    #: The manifest of the pod or of its controller; ``-`` is standard input.
    manifest: Path
    #: Nodes of the options ``--lose``.
    lose: tuple[str, ...]
    #: ``NODE=N`` of the options ``--add``.
    add: tuple[str, ...]
    #: Number of copies for ``--buy``; ``None`` without it.
    buy: int | None
    #: Number of orders of removal of the compaction.
    compact: int
    #: Number of copies at which counting ends.
    most: int
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@options.command(
    "capacity",
    CapacityOptions,
    example="""
        stretto capacity pod.yaml --on cluster
        stretto capacity examples/capacity/web.yaml --on examples/kubernetes.yaml --lose node-a
        stretto capacity pod.yaml --on sqlite:run.db --buy 40
    """,
)
@click.argument(
    "manifest",
    type=options.ExistingPath(exists=True, allow_dash=True, path_type=Path),
)
@click.option(
    "--lose",
    multiple=True,
    metavar="NODE",
    help="Also show the result without this node; may be repeated.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="NODE=N",
    help="Also show the result with N more nodes like this one.",
)
@click.option(
    "--buy",
    type=options.WholeRange(1, MOST_BOUGHT),
    metavar="N",
    help="Show how many nodes of each kind would be enough for N pods.",
)
@click.option(
    "--compact",
    type=options.WholeRange(0, MOST_SEEDS),
    default=0,
    metavar="SEEDS",
    help="Show how few nodes are enough for the running pods; try this many orders of removal.",
)
@click.option(
    "--most",
    type=options.WholeRange(1, MOST_PODS),
    default=1000,
    show_default=True,
    metavar="N",
    help="Count up to this many pods.",
)
@options.TIER
@NAMESPACE
@state_options
def capacity(common: CommandContext, opts: CapacityOptions) -> None:
    """Show how many more of a pod fit on a state.

    MANIFEST is a Kubernetes object with one pod template. The real scheduler places copies of its
    first pod on a copy of the state, with all rules of the profile; no running pod is evicted. Pods
    of a lost node are placed first. Nothing is written. Exits with 3 if not even one copy fits now.
    """
    import msgspec

    from stretto.sim.fitting import trials
    from stretto.sim.fitting.changes import NodeChange
    from stretto.sim.fitting.forms import first_pod

    kernels = manifest_rules(common, opts, opts.tier, [opts.manifest])
    state, namespace = read_state(common, opts, kernels)
    pod = first_pod(opts.manifest, opts.namespace or namespace or "default", state)
    question = trials.FitQuestion(state, pod, rules_of(state, "", kernels.tier, ()), opts.most)
    report = trials.FitReport(
        state.title,
        f"{pod.namespace}/{pod.name}",
        (trials.fit(question, NodeChange(), "now"), *_others(question, opts)),
        () if opts.buy is None else tuple(trials.nodes_to_buy(question, opts.buy)),
        tuple(
            trials.compact(state, question.rules, seed)
            for seed in range(common.seed, common.seed + opts.compact)
        ),
    )
    _show(common.console, report)
    common.console.json(trials.SCHEMA, msgspec.to_builtins(report))
    if not report.answers[0].fits:
        raise DoesNotFitError(f"a copy of {pod.title}", "see `stretto plan` for the reason")


def _others(question: "FitQuestion", opts: CapacityOptions) -> "Iterator[FitAnswer]":
    from stretto.inputs.neutral.shapes import MAX_NODES
    from stretto.sim.fitting import trials
    from stretto.sim.fitting.changes import NodeChange

    for name in dict.fromkeys(opts.lose):
        yield trials.fit(question, NodeChange(lost=frozenset([name])), f"without {name}")
    for text in opts.add:
        name, _, count = text.rpartition("=")
        if not name or not count.isdecimal() or not 1 <= int(count) <= MAX_NODES:
            raise InputError("--add", text, f"NODE=N, with a number N of 1..{MAX_NODES:,}")
        change = NodeChange(added={name: int(count)})
        yield trials.fit(question, change, f"with {count} more like {name}")


def _show(console: Console, report: "FitReport") -> None:
    """Write the results."""
    console.data(f"On the {report.state}, copies of {report.pod}:")
    rows = [
        (each.case, f"{each.fits:,}{' or more' if each.limited else ''}", each.moved, each.unplaced)
        for each in report.answers
    ]
    console.table(["nodes", "pods that fit", "moved", "left pending"], rows)
    if report.offers:
        found = [(e.kind, "not with any" if e.nodes is None else e.nodes) for e in report.offers]
        console.table(["kind", "new nodes"], found)
    if report.compactions:
        needed = [(each.seed, each.nodes, each.of) for each in report.compactions]
        console.table(["seed", "nodes needed", "of"], needed)
