"""``stretto plan``: what would happen if some objects were submitted now."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import DoesNotFitError, InputError
from stretto.cli import options
from stretto.cli.cluster_source import ClusterOptions, cluster_options, state_in
from stretto.cli.console import Console
from stretto.cli.kernels.tier import tier_of
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.sim.history.plan import PlanReport
    from stretto.sim.history.sandbox import SandboxState
    from stretto.sim.setup import SchedulingRules

#: Pods that are listed without ``-v``.
SHOWN = 20


@dataclass(frozen=True)
class PlanOptions(ClusterOptions):
    """Options of ``plan``."""

    tries_profiles = True
    #: Files or folders with the objects; ``-`` is standard input.
    manifests: tuple[Path, ...]
    #: The state: ``sqlite:PATH``, a scenario's file, or a run record; empty for the latest record.
    on: str
    #: Namespace of objects that name none.
    namespace: str
    #: Policy instead of the state's; empty keeps it.
    policy: str
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str
    #: Files with rules of their own.
    plugin: tuple[Path, ...]


@options.command(
    "plan",
    PlanOptions,
    example="""
        stretto plan examples/manifests/web.yaml --on examples/kubernetes.yaml
        stretto plan job.yaml --on sqlite:run.db
        cat job.yaml | stretto plan - --json -
        stretto plan job.yaml --cluster
    """,
)
@click.argument(
    "manifests",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)
@click.option(
    "--on",
    default="",
    metavar="RUN|SCENARIO.yaml|sqlite:PATH",
    help="The state to try it on; else the end of the last run.",
)
@click.option("--namespace", default="default", metavar="NAME", help="For objects that name none.")
@click.option("--policy", default="", metavar="NAME", help="Scoring policy, such as fgd.")
@click.option("--profile", default="", metavar="NAME|FILE", help="Scheduling profile.")
@options.TIER
@options.PLUGIN
@cluster_options
def plan(common: CommandContext, asked: PlanOptions) -> None:
    """Say what would happen if some objects were submitted now.

    MANIFESTS are Kubernetes objects (YAML or JSON; controllers count as their pods, nodes may come
    too). They are tried by the real scheduler on a copy of the state: which node each pod would
    get, who would have to leave, what would stay pending and why. Nothing is written. Exit 3 when
    something would not fit.
    """
    import msgspec

    from stretto.inputs.objects.manifests import ManifestOptions, load_objects
    from stretto.sim.history.plan import SCHEMA, nodes_of
    from stretto.sim.history.plan import plan as tried
    from stretto.sim.history.sandbox import state_of
    from stretto.sim.setup import SchedulingRules

    asked.check("--on", asked.on)
    asked = replace(asked, tier=tier_of(asked.tier, common.console.note))
    if asked.reads_cluster:
        state = state_in(common, asked, plugins=asked.plugin).state
    else:
        state = state_of(asked.on, SchedulingRules("", asked.tier, plugins=asked.plugin))
    settings = ManifestOptions(asked.namespace, keep_missing_owners=True)
    objects = load_objects(asked.manifests, settings, nodes_of(state))
    report = tried(state, objects, _rules(state, asked))
    _show(common.console, report)
    told = {"fits": not report.unfit and not report.refused, **msgspec.to_builtins(report)}
    common.console.json(SCHEMA, told)
    if report.refused:
        found = format_count(len(report.refused), "object")
        hint = "rename them, or leave out what is there already"
        raise InputError("MANIFESTS", found, "objects that the store takes", hint)
    if report.unfit:
        first = next(each for each in report.pending if each.reason is not None)
        why = first.reason.sentence.rstrip(".") if first.reason else ""
        raise DoesNotFitError(f"{report.unfit:,} of {format_count(report.pods, 'pod')}", why)


def _rules(state: "SandboxState", asked: PlanOptions) -> "SchedulingRules":
    """The state's own rules, or those that were asked for."""
    from stretto.sim.setup import SchedulingRules, chosen_source

    source = chosen_source(state.profile, asked.policy, asked.profile, asked.plugin)
    return SchedulingRules(source, asked.tier, plugins=asked.plugin)


# ---------------------------------------------------------------- what is shown


def _show(console: Console, report: "PlanReport") -> None:
    """The whole answer: in a sentence, then pod by pod."""
    parts = [f"{len(report.placed):,} of {format_count(report.pods, 'pod')} would be placed"]
    waiting = sum(len(each.pods) for each in report.pending)
    if waiting:
        parts.append(f"{waiting:,} would stay pending")
    if report.victims:
        parts.append(f"{format_count(len(report.victims), 'pod')} would lose their node")
    console.data(f"On the {report.state}: {', '.join(parts)}.")
    _show_placed(console, report)
    for group in report.pending:
        _show_pending(console, group.pods, group.reason.sentence if group.reason else "")
        if group.message:
            console.data(f"  {group.message}")
    if report.victims:
        rows = [(each.pod, each.node, each.instead or "-") for each in report.victims]
        console.table(["would lose its node", "now on", "then on"], rows[:SHOWN])
    for refused in report.refused:
        console.data(f"\nrefused: {refused}")
    used = [
        (use.resource, use.before_pct, use.after_pct)
        for use in report.use
        if console.verbose or use.before_pct != use.after_pct
    ]
    if used:
        console.table(["resource", "allocated %", "then %"], used)
    if report.also_placed:
        others = format_count(len(report.also_placed), "pod")
        console.data(f"\n{others} that wait now would get a node too.")


def _show_placed(console: Console, report: "PlanReport") -> None:
    """Pods with their nodes; where there are many, nodes with how many pods."""
    if not report.placed:
        return
    if len(report.placed) <= SHOWN or console.verbose:
        given = any(each.devices for each in report.placed)
        rows = [(e.pod, e.node, *([e.devices or "-"] if given else [])) for e in report.placed]
        console.table(["pod", "node", *(["devices"] if given else [])], rows)
        return
    counts = Counter(each.node for each in report.placed).most_common()
    console.table(["node", "pods"], counts[:SHOWN])
    if len(counts) > SHOWN:
        console.note(f"and {format_count(len(counts) - SHOWN, 'node')} more; -v lists every pod")


def _show_pending(console: Console, pods: tuple[str, ...], why: str) -> None:
    named = ", ".join(pods[:3]) + (f" and {len(pods) - 3:,} more" if len(pods) > 3 else "")
    console.data(f"\npending: {named}\n  {why or 'There are too many kinds of pods to say why.'}")
