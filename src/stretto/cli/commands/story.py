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
    #: Files with rules of their own.
    plugin: tuple[Path, ...]
    #: Namespace of the pod where it names none; empty for the usual one.
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
    "--run", default="", metavar="NAME|sqlite:PATH", help="Record of that name; else the latest."
)
@options.PLUGIN
@NAMESPACE
@cluster_options
def story(common: CommandContext, asked: StoryOptions) -> None:
    """Tell every step of a pod's life, with its cause.

    POD is a name or namespace/name. From the record of a run the story is complete: declined
    attempts and what the nodes said then, what woke it, conflicts, binds, and its end. From a
    store (sqlite:PATH) or a cluster (--cluster) it is what was told there in events.
    """
    import msgspec

    from stretto.explain.story import SCHEMA

    said = _story(asked)
    _show(common.console, said)
    common.console.json(SCHEMA, msgspec.to_builtins(said))


def _story(asked: StoryOptions) -> "Story":
    """The story, from wherever it is to be taken."""
    from stretto.explain.records.records import RunRecords
    from stretto.explain.story import story_of_objects, story_of_run
    from stretto.explain.why.scene import LoadedRun
    from stretto.stores.embedded.sqlite import read_store

    asked.check("--run", asked.run)
    if asked.reads_cluster:
        from stretto.sim.history.clusters import story_of_events

        with opened(asked) as cluster:
            space, _, name = asked.pod.rpartition("/")
            space = space or asked.namespace or cluster.namespace
            return story_of_events(cluster.store, space, name, cluster.title)
    pod = named(asked.pod, asked.namespace)
    if asked.run.startswith("sqlite:"):
        path = Path(asked.run.removeprefix("sqlite:"))
        return story_of_objects(read_store(path), pod, f"the events in {path}")
    run = LoadedRun(RunRecords().find(asked.run), asked.plugin)
    try:
        return story_of_run(run, pod)
    finally:
        run.close()


def _show(console: Console, said: "Story") -> None:
    """One line a step, with its cause below."""
    console.data(f"{said.pod} · {said.state}{f' on {said.node}' if said.node else ''}")
    for step in said.steps:
        console.data(f"{step.time_s:>12,.3f} s  {step.step:<11}  {step.detail}")
        if step.cause:
            console.data(f"{'':>14}  {'':<11}  → {step.cause}")
    if said.waits is not None:
        console.data(f"\nIn the end: {said.waits.sentence}")
        console.data(f"  [{said.waits.tier.value}: {said.waits.code.value}]")
    console.detail(f"told from {said.basis}")
    if said.dropped:
        console.note(f"{said.dropped:,} steps of pods were not kept: there were too many")
