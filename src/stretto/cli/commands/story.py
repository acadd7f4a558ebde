"""``stretto story``: every step of a pod's life, with its cause."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.parts.masters.address import MasterAccess, completes, master_options
from stretto.cli.sources.states import (
    NAMESPACE,
    StateOptions,
    full_name,
    old_run,
    opened,
    read_state,
    state_options,
)

if TYPE_CHECKING:
    from stretto.explain.story import Story


@dataclass(frozen=True)
class StoryOptions(StateOptions, MasterAccess):
    """Options of ``story``."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]
    #: Id of a task of a master.
    task: str | None


@options.command(
    "story",
    StoryOptions,
    example="""
        stretto story train-big-3
        stretto story default/web-3 --on quickstart
        stretto story web-3 --on sqlite:run.db --json -
        stretto story web-3 -n shop --on cluster
        stretto story --task web.1
    """,
)
@click.argument("pod", required=False, default="", shell_complete=options.completes("pods"))
@options.PLUGIN
@click.option(
    "--task",
    metavar="ID",
    shell_complete=completes("tasks"),
    help="Show every state of this task of a Mesos framework.",
)
@master_options
@NAMESPACE
@old_run
@state_options
def story(common: CommandContext, opts: StoryOptions) -> None:
    """Show every step of a pod's life, with its cause.

    POD is NAME, NAMESPACE/NAME or pod/NAME. A run or a scenario is complete: failed attempts with
    the verdicts of the nodes, the events that triggered retries, conflicts, binds and the end. A
    store, a recording or a cluster contains only its written events. --task lists the
    states of a task that a master runs for a framework.
    """
    import msgspec

    from stretto.cli.parts.masters.answers import check_options, task_story
    from stretto.explain.story import SCHEMA

    check_options("--task", is_given=opts.task is not None)
    if opts.task is not None:
        task_story(common, opts, opts.task)
        return
    if not opts.pod:
        raise click.UsageError("Missing argument 'POD'.", click.get_current_context())
    life = _story(common, opts)
    _show(common.console, life)
    common.console.json(SCHEMA, msgspec.to_builtins(life))


def _story(common: CommandContext, opts: StoryOptions) -> "Story":
    """Read the story."""
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.story import story_of_objects, story_of_run
    from stretto.sim.states.source import StateKind, referenced

    opts.check()
    given = opts.pod.removeprefix("pod/")
    if opts.reads_cluster:
        from stretto.sim.states.clusters import story_of_events

        with opened(opts) as cluster:
            namespace, _, name = given.rpartition("/")
            namespace = namespace or opts.namespace or cluster.namespace
            return story_of_events(cluster.store, namespace, name, cluster.title)
    pod = full_name(given, opts.namespace)
    if referenced(opts.named).kind not in (StateKind.RUN, StateKind.SCENARIO):
        state = read_state(common, opts).state
        return story_of_objects(state.records, pod, f"events in the {state.title}")
    with opened_scene(common, opts, opts.plugin) as scene:
        assert scene.run is not None
        return story_of_run(scene.run, pod)


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
