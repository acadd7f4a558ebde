"""``stretto story``: every step of a pod's life, with its cause."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.cluster_source import NAMESPACE, ClusterOptions, cluster_options, named, opened
from stretto.cli.console import Console
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.explain.story import Story


@dataclass(frozen=True)
class StoryOptions(ClusterOptions):
    """Options of ``story``."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: Name of the run record, or ``sqlite:PATH``; empty for the latest record.
    run: str
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]
    #: Namespace of the pod if it names none; empty for the default one.
    namespace: str


@options.command(
    "story",
    StoryOptions,
    example="""
        stretto story train-big-3
        stretto story default/web-3 --run quickstart
        stretto story web-3 --run sqlite:run.db --json -
        stretto story web-3 -n shop --cluster
    """,
)
@click.argument("pod")
@click.option(
    "--run",
    default="",
    metavar="NAME|sqlite:PATH",
    help="Run record by name, or a durable store [the latest record].",
)
@options.PLUGIN
@NAMESPACE
@cluster_options
def story(common: CommandContext, opts: StoryOptions) -> None:
    """Show every step of a pod's life, with its cause.

    POD is a name or namespace/name. A run record is complete: failed attempts with the verdicts of
    the nodes, the events that triggered retries, conflicts, binds and the end. A store
    (sqlite:PATH) or a cluster (--cluster) only has the events that were written there.
    """
    import msgspec

    from stretto.explain.story import SCHEMA

    life = _story(opts)
    _show(common.console, life)
    common.console.json(SCHEMA, msgspec.to_builtins(life))


def _story(opts: StoryOptions) -> "Story":
    """Read the story from its source."""
    from stretto.explain.records.records import RunRecords
    from stretto.explain.story import story_of_objects, story_of_run
    from stretto.explain.why.sources.loaded import LoadedRun
    from stretto.stores.embedded.sqlite import read_store

    opts.check("--run", opts.run)
    if opts.reads_cluster:
        from stretto.sim.history.clusters import story_of_events

        with opened(opts) as cluster:
            namespace, _, name = opts.pod.rpartition("/")
            namespace = namespace or opts.namespace or cluster.namespace
            return story_of_events(cluster.store, namespace, name, cluster.title)
    pod = named(opts.pod, opts.namespace)
    if opts.run.startswith("sqlite:"):
        path = Path(opts.run.removeprefix("sqlite:"))
        return story_of_objects(read_store(path), pod, f"events in {path}")
    run = LoadedRun(RunRecords().find(opts.run), opts.plugin)
    try:
        return story_of_run(run, pod)
    finally:
        run.close()


def _show(console: Console, life: "Story") -> None:
    """Write one line per step, with its cause below."""
    console.data(f"{life.pod} · {life.state}{f' on {life.node}' if life.node else ''}")
    for step in life.steps:
        console.data(f"{step.time_s:>12,.3f} s  {step.step:<11}  {step.detail}")
        if step.cause:
            console.data(f"{'':>14}  {'':<11}  → {step.cause}")
    if life.waits is not None:
        console.data(f"\nStill pending: {life.waits.sentence}")
        console.data(f"  [{life.waits.tier.value}: {life.waits.code.value}]")
    console.detail(f"source: {life.basis}")
    if life.dropped:
        console.note(f"{life.dropped:,} pod steps were dropped: the recorder reached its limit")
