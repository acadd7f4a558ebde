"""``stretto explain``: why a pod is pending, why it is on its node, or why it is not on another."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import (
    NAMESPACE,
    StateOptions,
    full_name,
    old_run,
    read_state,
    state_options,
)

if TYPE_CHECKING:
    from stretto.cli.sources.scenes import OpenedScene
    from stretto.explain.records.records import RunRecords
    from stretto.explain.why.scene import Scene
    from stretto.plane.copy import StoreState


@dataclass(frozen=True)
class ExplainOptions(StateOptions):
    """Options of ``explain``."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: The node in question, or ``None`` for all.
    node: str | None
    #: Whether to list the run records instead.
    runs: bool
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]
    #: Whether to estimate when the pod starts.
    when: bool


@options.command(
    "explain",
    ExplainOptions,
    example="""
        stretto explain dream-0
        stretto explain default/web-3 cpu-0001 --on quickstart
        stretto explain --runs
        stretto explain web-3 -n shop --on cluster
    """,
)
@click.argument("pod", required=False, default="", shell_complete=options.completes("subjects"))
@click.argument("node", required=False, shell_complete=options.completes("nodes"))
@click.option("--runs", is_flag=True, help="List the run records and exit.")
@options.PLUGIN
@click.option("--when", is_flag=True, help="Also estimate when the pod starts.")
@NAMESPACE
@old_run
@state_options
def explain(common: CommandContext, opts: ExplainOptions) -> None:
    """Explain why a pod is pending, or why it is on its node.

    POD is a name or namespace/name; with NODE, the answer is why the pod is not there. The answer
    has the dominant reason, all reasons with counts, the nearest nodes, and what would make the pod
    fit.
    """
    from stretto.cli.sources.scenes import opened_scene
    from stretto.explain.records.records import RunRecords

    if opts.runs:
        _list_runs(common, RunRecords())
        return
    if not opts.pod:
        raise click.UsageError("Missing argument 'POD'.", click.get_current_context())
    with opened_scene(common, opts, opts.plugin) as opened:
        pod = full_name(opts.pod, opts.namespace or opened.namespace)
        if opened.is_cluster:
            _report_fit(common, opened, pod)
        answer = _answer(common, opened.scene, pod, opts.node)
        if opts.when:
            state = opened.state or read_state(common, opts).state
            answer |= _expected_start(common, pod, state, opts)
        source = opened.run.facts.name if opened.run is not None else opts.named or opened.title
    _write_json(common, source, answer)


def _report_fit(common: CommandContext, opened: "OpenedScene", pod: str) -> None:
    """Note that a pod fits on the copy although it is unbound in the cluster."""
    from stretto.api.wire.kinds import POD

    unbound = [
        each.uid
        for each in opened.records
        if each.kind == POD and f"{each.namespace}/{each.name}" == pod and not each.node
    ]
    pods = opened.scene.cluster.pods
    rows = [pods.row(uid) for uid in unbound]
    if any(row is not None and pods.slot[row] >= 0 for row in rows):
        common.console.note(
            "The pod fits but is unbound in the cluster: its scheduler has not processed it yet. "
            "Check that the scheduler runs and holds its lease: kubectl get leases -A"
        )


def _answer(common: CommandContext, scene: "Scene", pod: str, node: str | None) -> dict[str, Any]:
    """Explain on a scene and write the answer; returns its JSON form."""
    import msgspec

    from stretto.cli.views.explanation import show_explanation, show_node_explanation
    from stretto.explain.why.on_node import explain_pod_on
    from stretto.explain.why.why import explain_pod

    if node:
        compared = explain_pod_on(scene, pod, node)
        show_node_explanation(common.console, compared)
        return dict(msgspec.to_builtins(compared))
    answer = explain_pod(scene, pod)
    show_explanation(common.console, answer)
    return dict(msgspec.to_builtins(answer))


def _expected_start(
    common: CommandContext, pod: str, state: "StoreState", opts: ExplainOptions
) -> dict[str, float | None]:
    from stretto.cli.views.expected_start import show_expected_start

    return show_expected_start(common.console, pod, state, opts.plugin)


def _write_json(common: CommandContext, run: str, answer: dict[str, Any]) -> None:
    from stretto.explain.why.answers import SCHEMA

    common.console.json(SCHEMA, {"run": run, **answer})


def _list_runs(common: CommandContext, records: "RunRecords") -> None:
    """Write the names of all records, the latest first."""
    names = records.names()
    for name in names:
        common.console.data(name)
    if not names:
        common.console.note(f"no record in {records.folder}; create one: stretto run SCENARIO.yaml")
    common.console.json("stretto.runs/v1", {"folder": str(records.folder), "runs": names})
