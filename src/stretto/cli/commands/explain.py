"""``stretto explain``: why a pod is pending, why it is where it is, or why it is not there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.cluster_source import (
    NAMESPACE,
    PROFILE,
    ClusterOptions,
    cluster_options,
    named,
    state_in,
)
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.explain.records.records import RunRecords
    from stretto.explain.why.inquiry import NearFacts
    from stretto.explain.why.scene import Scene
    from stretto.explain.why.why import Explanation, NodeChoice, NodeExplanation
    from stretto.sim.history.sandbox import SandboxState

#: Reasons and nodes that are listed without ``-v``.
SHOWN = 5


@dataclass(frozen=True)
class ExplainOptions(ClusterOptions):
    """Options of ``explain``."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: The node that is asked about, or ``None`` for all.
    node: str | None
    #: Name of the run record; empty for the latest.
    run: str
    #: Whether to list the records instead.
    runs: bool
    #: Files with rules of their own.
    plugin: tuple[Path, ...]
    #: Whether to say when the pod is expected to start.
    when: bool
    #: Namespace of the pod where it names none; empty for the usual one.
    namespace: str


@options.command(
    "explain",
    ExplainOptions,
    example="""
        stretto explain dream-0
        stretto explain default/web-3 cpu-0001 --run quickstart
        stretto explain --runs
        stretto explain web-3 -n shop --cluster
    """,
)
@click.argument("pod", required=False, default="")
@click.argument("node", required=False)
@click.option(
    "--run",
    default="",
    metavar="NAME|sqlite:PATH",
    help="Record of that name, or a durable store; else the latest record.",
)
@click.option("--runs", is_flag=True, help="List the records of runs and do nothing else.")
@options.PLUGIN
@click.option("--when", is_flag=True, help="Say when it is expected to start, too.")
@NAMESPACE
@cluster_options
@PROFILE
def explain(common: CommandContext, asked: ExplainOptions) -> None:
    """Say why a pod is pending, or why it is where it is.

    POD is a name or namespace/name; with NODE: why it is not there. It reads the record of the
    last run (or of --run NAME), or a cluster as it is now (--cluster), and answers with one
    dominant reason, all reasons with counts, the nearest nodes, and what would cure it.
    """
    from stretto.explain.records.records import RunRecords

    if asked.runs:
        _list_runs(common.console, RunRecords())
        return
    if not asked.pod:
        raise click.UsageError("Missing argument 'POD'.", click.get_current_context())
    asked.check("--run", asked.run)
    if asked.run.startswith("sqlite:") or asked.reads_cluster:
        _answer(common.console, *_stored(common, asked))
        return
    from stretto.explain.why.scene import LoadedRun
    from stretto.sim.history.sandbox import state_of

    asked = replace(asked, pod=named(asked.pod, asked.namespace))
    run = LoadedRun(RunRecords().find(asked.run), asked.plugin)
    try:
        facts = run.facts
        common.console.detail(f"record {facts.name}: {facts.source}, {facts.started}")
        state = state_of(asked.run) if asked.when else None
        _answer(common.console, replace(asked, run=facts.name), run.scene, state)
    finally:
        run.close()


def _stored(
    common: CommandContext, asked: ExplainOptions
) -> "tuple[ExplainOptions, Scene, SandboxState]":
    """The scene of a store or cluster: a plane looks at a copy, and places what it can."""
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.explain.why.scene import live_scene
    from stretto.sim.history.sandbox import Sandbox, state_of
    from stretto.sim.setup import SchedulingRules

    if asked.reads_cluster:
        state, space = state_in(common, asked, plugins=asked.plugin)
        asked = replace(asked, run=state.title, pod=named(asked.pod, asked.namespace or space))
    else:
        state = state_of(asked.run)
        asked = replace(asked, pod=named(asked.pod, asked.namespace))
    copy = Sandbox(state, SchedulingRules(state.profile, "numpy", plugins=asked.plugin))
    copy.settle()
    copy.rest()
    plane = copy.plane
    views = plane.dispatcher.views
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, views)
    scene.when = f"the {state.title}, after what waits there has been tried"
    scene.read(state.records, state.settings.scheduler_names)
    scene.queues = tuple(with_implicit_queues(scene.queues, state.records))
    if asked.reads_cluster:
        _print_fit(common.console, scene, state, asked.pod)
    return asked, scene, state


def _print_fit(console: Console, scene: "Scene", state: "SandboxState", pod: str) -> None:
    """Say so where the copy has found a node for a pod that has none in the cluster."""
    from stretto.api.wire.kinds import POD

    waiting = [
        each.uid
        for each in state.records
        if each.kind == POD and f"{each.namespace}/{each.name}" == pod and not each.node
    ]
    rows = [scene.cluster.pods.row(uid) for uid in waiting]
    if any(row is not None and scene.cluster.pods.slot[row] >= 0 for row in rows):
        console.note(
            "it has no node in the cluster yet, and there is room: its scheduler has not come to it"
            " so far (does one run, and lead? kubectl get leases -A)"
        )


def _answer(
    console: Console, asked: ExplainOptions, scene: "Scene", state: "SandboxState | None"
) -> None:
    """Ask a scene, and show what it says."""
    import msgspec

    from stretto.explain.why.why import SCHEMA, explain_pod, explain_pod_on

    said: Explanation | NodeExplanation
    if asked.node:
        said = explain_pod_on(scene, asked.pod, asked.node)
        _show_node(console, said)
    else:
        said = explain_pod(scene, asked.pod)
        _show(console, said)
    told = {"run": asked.run, **msgspec.to_builtins(said)}
    if asked.when and state is not None:
        told |= _show_when(console, asked, state)
    console.json(SCHEMA, told)


def _show_when(
    console: Console, asked: ExplainOptions, state: "SandboxState"
) -> dict[str, float | None]:
    """Seconds until the pod's unit starts or is given up; ``None`` where that is not to be seen."""
    from stretto.sim.history.forecast import forecast
    from stretto.sim.history.sandbox import Sandbox
    from stretto.sim.setup import SchedulingRules

    told: dict[str, float | None] = {"expected_start_s": None, "expected_timeout_s": None}
    copy = Sandbox(state, SchedulingRules(state.profile, "numpy", plugins=asked.plugin))
    copy.settle(patience=0.0)
    copy.backdate_groups()
    pods = copy.plane.cluster.pods
    space, _, name = asked.pod.rpartition("/")
    key = f"{space or 'default'}/{name}"
    row = next((row for row in pods.rows().tolist() if pods.key(row) == key), None)
    unit = None if row is None else copy.plane.units.of_row(row)
    if row is None or pods.slot[row] >= 0 or unit is None:
        return told
    starts = forecast(copy.plane, asked=[unit.key])
    after, late = starts.after_s[unit.key], starts.late_s.get(unit.key)
    if isfinite(after):
        told["expected_start_s"] = after
        console.data(f"\nExpected to start in {after:,.0f} s, if nothing else comes.")
    elif late is not None:
        told["expected_timeout_s"] = late
        console.data(f"\n{_never(late, unit.size - unit.min_member)}")
    else:
        console.data("\nNothing that says how long it runs would make room for it.")
    return told


def _never(late: float, spare: int) -> str:
    """Why a gang never starts, and what would help."""
    lacks = f"lacks {format_count(-spare, 'pod')}" if spare < 0 else "has not found room"
    if late <= 0:
        return (
            "Never starts: its group has timed out (spec.scheduleTimeoutSeconds of the PodGroup). "
            "Make the group anew to have it tried again."
        )
    return (
        f"Never starts: it still {lacks} when its group times out, in {late:,.0f} s "
        "(spec.scheduleTimeoutSeconds of the PodGroup; a greater number lets it wait longer)."
    )


def _list_runs(console: Console, records: "RunRecords") -> None:
    """Names of all records, the latest first."""
    names = records.names()
    for name in names:
        console.data(name)
    if not names:
        console.note(f"no record in {records.folder}; make one: stretto run SCENARIO.yaml")
    console.json("stretto.runs/v1", {"folder": str(records.folder), "runs": names})


# ---------------------------------------------------------------- a pod


def _show(console: Console, said: "Explanation") -> None:
    """The whole answer, the most important first."""
    asks = ", ".join(ask.text for ask in said.asks)
    console.data(f"{said.pod} · {said.state}{f' on {said.node}' if said.node else ''}")
    if asks:
        console.data(f"  asks for {asks}")
    if said.dominant is not None:
        console.data(f"\n{said.dominant.sentence}")
        console.data(f"  [{said.dominant.tier.value}: {said.dominant.code.value}]")
        _list(console, "Also", [each.sentence for each in said.reasons[1:]])
    if said.nodes is not None:
        _show_nodes(console, said)
    _list(console, "What would help", [each.sentence for each in said.cures])
    _show_unit(console, said)
    if said.choice is not None:
        _show_choice(console, said.choice, placed=bool(said.node))
    if said.steps:
        rows = [(f"{step.time_s:.3f} s", step.step, step.detail) for step in said.steps]
        shown = rows if console.verbose else rows[-SHOWN:]
        console.table(["time", "step", ""], shown, title="What happened")


def _show_nodes(console: Console, said: "Explanation") -> None:
    """What the nodes say: kube-scheduler's sentence, then what it hides."""
    nodes = said.nodes
    assert nodes is not None
    console.data(f"\n{nodes.message}")
    if nodes.reasons:
        shown = nodes.reasons if console.verbose else nodes.reasons[:SHOWN]
        rows = [(each.nodes, each.alone, each.reason) for each in shown]
        console.table(["nodes", "alone", "reason"], rows)
    together = [f"{format_count(e.nodes, 'node')}: {' + '.join(e.reasons)}" for e in nodes.overlaps]
    _list(console, "Together", together if console.verbose else together[:2])
    _show_forbidden(console, said)
    near = [(each.node, "; ".join(_why(each))) for each in nodes.nearest]
    if near:
        console.table(["nearest node", "what stands in the way"], near)


def _show_forbidden(console: Console, said: "Explanation") -> None:
    """Which preemption is forbidden by whom."""
    held = said.preemption.held if said.preemption is not None else ()
    lines = []
    for each in held:
        more = f" and {each.count - len(each.pods)} more" if each.count > len(each.pods) else ""
        whom = f", for {', '.join(each.pods)}{more}" if each.pods else ""
        lines.append(f"{each.node}: {each.reason}{whom}")
    _list(console, "Preemption is forbidden, for example on", lines)


def _why(near: "NearFacts") -> list[str]:
    """Everything against a node, amounts where there are any."""
    amounts = [lack.text for lack in near.lacks]
    named = {lack.resource for lack in near.lacks}
    others = [
        text
        for text in near.words
        if text != "Too many pods" and text.removeprefix("Insufficient ") not in named
    ]
    return [*others, *amounts]


def _show_unit(console: Console, said: "Explanation") -> None:
    """Its unit: members, queue, and how far its gang would come."""
    unit, gang = said.unit, said.gang
    if unit is None:
        return
    if said.share is not None:
        faults = [f"Queue {unit.queue}: {fault}." for fault in said.share.faults]
        for sentence in filter(None, (said.share.sentence, *faults)):
            console.data(f"\n{sentence}")
    if unit.shard >= 0:
        loop = f", in the loop of sub-cluster {said.sub_cluster}" if said.sub_cluster else ""
        console.data(f"Shard {unit.shard} has it now{loop}.")
    elif said.sub_cluster:
        console.data(f"The loop of sub-cluster {said.sub_cluster} places it.")
    if unit.kind == "Pod":
        turn = f"number {unit.position:,} of {unit.queue_length:,}" if unit.position else unit.state
        failed = f"; failed attempts: {said.failed_attempts}" if said.steps else ""
        console.data(f"\nQueue {unit.queue}: {turn}{failed}")
        return
    members = f"{unit.placed} placed, {unit.waiting} waiting"
    least = f", at least {unit.min_member} together" if unit.is_gang and unit.min_member else ""
    place = f"; number {unit.position} of {unit.queue_length} in its queue" if unit.position else ""
    console.data(f"\nUnit {unit.key} ({unit.state}): {members}{least}; queue {unit.queue}{place}")
    if gang is not None:
        console.data(f"  {gang.fitting} of {gang.tried} waiting members would fit together now")
        if gang.next_lacks is not None:
            why = "; ".join(_why(gang.next_lacks))
            console.data(f"  {gang.next_pod} is next; nearest {gang.next_lacks.node}: {why}")


def _show_choice(console: Console, choice: "NodeChoice", *, placed: bool) -> None:
    """The best nodes, each score rule by rule."""
    fit = "fits" if choice.feasible == 1 else "fit"
    console.data(f"\n{choice.sentence}")
    console.data(f"{format_count(choice.feasible, 'node')} {fit} in {choice.basis}.")
    if choice.tied > 1:
        console.data(f"Equal scores are told apart by {choice.tie_rule}.")
    top = choice.top
    plugins = [f"{part.plugin} ×{part.weight}" for part in top[0].parts] if top else []
    rows: list[Sequence[object]] = [
        (
            each.rank,
            each.node + (" *" if each.chosen else ""),
            each.total,
            *(part.score for part in each.parts),
        )
        for each in top
    ]
    console.table(["rank", "node", "score", *plugins], rows)
    if placed:
        console.data("* the node that it is on")


# ---------------------------------------------------------------- a pod and a node


def _show_node(console: Console, said: "NodeExplanation") -> None:
    """Why not there, or how it compares."""
    console.data(said.sentence)
    scored = [each for each in (said.score, said.chosen) if each is not None]
    if said.score is not None:
        plugins = [f"{part.plugin} ×{part.weight}" for part in said.score.parts]
        rows: list[Sequence[object]] = []
        for each in dict.fromkeys(scored):
            mark = " *" if each.chosen else ""
            parts = tuple(part.score for part in each.parts)
            rows.append((each.rank, each.node + mark, each.total, *parts))
        console.table(["rank", "node", "score", *plugins], rows)
    fit = "fits" if said.feasible == 1 else "fit"
    console.data(f"So it is in {said.basis}; {format_count(said.feasible, 'node')} {fit}.")


def _list(console: Console, heading: str, lines: Sequence[str]) -> None:
    """A heading with lines under it; nothing where there are none."""
    if lines:
        console.data(f"\n{heading}:")
        for line in lines:
            console.data(f"  - {line}")
