"""``stretto explain``: the reason why a pod is pending, is on its node, or is not on another."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import InputError
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.parts.masters.address import FrameworkOptions, framework_options
from stretto.cli.sources.states import (
    NAMESPACE,
    StateOptions,
    old_run,
    read_state,
    state_options,
)

if TYPE_CHECKING:
    from stretto.cli.sources.scenes import OpenedScene


@dataclass(frozen=True)
class ExplainOptions(StateOptions, FrameworkOptions):
    """Options of ``explain``."""

    #: The pod, as ``name`` or ``namespace/name``.
    pod: str
    #: The node to explain; ``None`` for all.
    node: str | None
    #: True if all pending pods are explained.
    pending: bool
    #: True if the run records are listed instead.
    runs: bool
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]
    #: True if the start of the pod is estimated.
    when: bool


@options.command(
    "explain",
    ExplainOptions,
    example="""
        stretto explain dream-0
        stretto explain default/web-3 cpu-0001 --on quickstart
        stretto explain --pending
        stretto explain podgroup/train
        stretto explain queue/research
        stretto explain node/gpu-0 --on examples/quickstart.yaml
        stretto explain web-3 -n shop --on cluster
        stretto explain --framework marathon --agent 6ba7b810-S0
    """,
)
@click.argument("pod", required=False, default="", shell_complete=options.completes("subjects"))
@click.argument("node", required=False, shell_complete=options.completes("nodes"))
@click.option("--pending", is_flag=True, help="Explain all pending pods, grouped by cause.")
@click.option("--runs", is_flag=True, help="List the run records and exit.")
@options.PLUGIN
@click.option("--when", is_flag=True, help="Also estimate when the pod starts.")
@framework_options
@NAMESPACE
@old_run
@state_options
def explain(common: CommandContext, opts: ExplainOptions) -> None:
    """Explain why a pod is pending, or why it is on its node.

    POD is a name or namespace/name; with NODE, the answer is why the pod is not there. The answer
    contains the dominant reason, all reasons with counts, the nearest nodes, and the changes that
    would make the pod fit. podgroup/NAME, queue/NAME and node/NAME explain other objects, --pending
    all pending pods. --framework lists, for each agent of the master, the first obstacle to an
    offer.
    """
    from stretto.cli.parts.masters.answers import check_options, explain_framework
    from stretto.cli.sources.scenes import opened_scene

    check_options("--framework", is_given=opts.framework is not None)
    if opts.runs:
        _list_runs(common)
        return
    if opts.framework is not None:
        explain_framework(common, opts, opts.framework, opts.agent)
        return
    if bool(opts.pod) == opts.pending:
        text = "Expected POD or --pending." if opts.pending else "Missing argument 'POD'."
        raise click.UsageError(text, click.get_current_context())
    with opened_scene(common, opts, opts.plugin) as opened:
        source = opened.run.facts.name if opened.run is not None else opts.named or opened.title
        schema, answer = _explained(common, opts, opened)
    common.console.json(schema, {"run": source, **answer})


def _explained(
    common: CommandContext, opts: ExplainOptions, opened: "OpenedScene"
) -> tuple[str, dict[str, Any]]:
    """Answer the question; return the schema and the JSON form of the answer."""
    from stretto.cli.parts.explanations.pod import (
        expected_start,
        pod_answer,
        refuse_deleted,
        report_fit,
    )
    from stretto.cli.parts.explanations.subjects import overview, pending_overview
    from stretto.explain.inventory.subjects import ExplainedKind, subject_named
    from stretto.explain.why.answers import SCHEMA

    if opts.pending:
        return pending_overview(common.console, opened, opts.namespace)
    namespace = opts.namespace or opened.namespace
    subject = subject_named(opened.scene, opened.records, opts.pod, namespace)
    if subject.kind is not ExplainedKind.POD:
        if opts.node or opts.when:
            what = f"a {subject.kind.value}"
            hint = "NODE and --when belong to a pod"
            raise InputError("POD", f"{what} {subject.name}", "a pod", hint)
        return overview(common.console, opened, subject)
    pod = subject.name
    if opened.is_cluster:
        report_fit(common, opened, pod)
    if opened.run is not None:
        refuse_deleted(opened.run, pod)
    answer = pod_answer(common, opened.scene, pod, opts.node)
    if opts.when:
        state = opened.state or read_state(common, opts).state
        answer |= expected_start(common, pod, state, opts.plugin)
    return SCHEMA, answer


def _list_runs(common: CommandContext) -> None:
    """List the run records, as ``stretto get runs`` does."""
    from stretto.cli.lists.objects import listed_runs_of
    from stretto.cli.output.formats import write_list

    write_list(common.console, "table", listed_runs_of(common, (), pending=False))
