"""``stretto plan``: the result of submitting objects now."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stretto.base.errors import DoesNotFitError, InputError, NotAllowedError
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
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.sim.history.plan import PlanReport
    from stretto.sim.submission.applied import PlannedChange

#: Maximum number of pods listed without ``-v``.
SHOWN = 20
#: Maximum number of changed fields of an object listed without ``-v``.
FIELDS = 5
_MARKS = {"create": "+", "unchanged": "=", "update": "~", "scale": "~", "replace": "±"}


@dataclass(frozen=True)
class PlanOptions(StateOptions):
    """Options of ``plan``."""

    tries_profiles = True
    #: Manifest files or folders; ``-`` is standard input.
    manifests: tuple[Path, ...]
    #: Policy that replaces that of the state; empty keeps it.
    policy: str
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str
    #: True if unknown fields are warnings.
    lenient: bool
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]


@options.command(
    "plan",
    PlanOptions,
    example="""
        stretto plan examples/plan/batch.yaml --on examples/kubernetes.yaml
        stretto plan job.yaml --on 64cpu-256gib-8gpu:4
        stretto plan job.yaml --on sqlite:run.db
        cat job.yaml | stretto plan - --json -
        stretto plan job.yaml --on cluster
    """,
)
@click.argument(
    "manifests",
    nargs=-1,
    required=True,
    type=options.ExistingPath(exists=True, allow_dash=True, path_type=Path),
)
@click.option(
    "--policy",
    default="",
    metavar="NAME",
    shell_complete=options.completes("profiles"),
    help="Scoring policy (see `stretto policies`) [the state's].",
)
@click.option("--lenient", is_flag=True, help="Warn of unknown fields instead of refusing them.")
@options.TIER
@options.PLUGIN
@NAMESPACE
@state_options
def plan(common: CommandContext, opts: PlanOptions) -> None:
    """Show what would happen if objects were submitted now.

    MANIFESTS are Kubernetes objects (YAML or JSON; controllers count as their pods, nodes are
    allowed; a folder is read with its sub-folders; objects without pods are named and skipped). The
    real scheduler places them on a copy of the state. The result shows the node of each pod, the
    evicted pods, and the pods that would stay pending, with the reason. Objects that exist are
    compared: changed fields, changed numbers of pods, and pods that would be replaced. Nothing is
    written. Exits with 3 if something does not fit.
    """
    import msgspec

    from stretto.cli.sources.planning import planned
    from stretto.inputs.objects.manifests import ManifestOptions
    from stretto.sim.history.plan import SCHEMA
    from stretto.sim.options import chosen_source

    chosen_source("default", opts.policy)
    kernels = manifest_rules(common, opts, opts.tier, opts.manifests, opts.plugin)
    state, namespace = read_state(common, opts, kernels)
    namespace = opts.namespace or namespace or "default"
    settings = ManifestOptions(namespace, keep_missing_owners=True, lenient=opts.lenient)
    rules = rules_of(state, opts.policy, kernels.tier, opts.plugin)
    report, refused, notes = planned(state, opts.manifests, settings, rules)
    _show(common.console, report)
    for line in notes:
        common.console.data(line)
    fits = not report.unfit and not report.refused
    fields = {"fits": fits, **msgspec.to_builtins(report), "skipped": notes}
    common.console.json(SCHEMA, fields)
    if refused:
        what = f"creating {format_count(len(refused), 'object')}"
        raise NotAllowedError(what, refused[0])
    if report.refused:
        found = format_count(len(report.refused), "object")
        raise InputError("MANIFESTS", found, "objects that the store accepts", report.refused[0])
    if report.unfit:
        reasons = [each.reason.sentence for each in report.pending if each.reason is not None]
        reasons += [each.message for each in report.kubelet_refused]
        why = reasons[0].rstrip(".") if reasons else ""
        raise DoesNotFitError(f"{report.unfit:,} of {format_count(report.pods, 'pod')}", why)


# ---------------------------------------------------------------- output


def _show(console: Console, report: "PlanReport") -> None:
    """Write the plan: a summary, then the pods."""
    parts = [f"{len(report.placed):,} of {format_count(report.pods, 'pod')} would be placed"]
    waiting = sum(len(each.pods) for each in report.pending)
    if waiting:
        parts.append(f"{waiting:,} would stay pending")
    if report.victims:
        parts.append(f"{format_count(len(report.victims), 'pod')} would be evicted")
    if not report.pods:
        parts[0] = "no pod would be created"
    console.data(f"On the {report.state}: {', '.join(parts)}.")
    _show_changes(console, report)
    _show_placed(console, report)
    for group in report.pending:
        _show_pending(console, group.pods, group.reason.sentence if group.reason else "")
        if group.message:
            console.data(f"  {group.message}")
    if report.victims:
        rows = [(each.pod, each.node, each.instead or "-") for each in report.victims]
        console.table(["would be evicted", "node now", "node then"], rows[:SHOWN])
    for each in report.kubelet_refused:
        console.data(f"\nrejected by the kubelet: {each.pod} on {each.node}: {each.reason}")
        console.data(f"  {each.message}")
    for refused in report.refused:
        console.data(f"\nrefused: {refused}")
    used = [
        (use.resource, use.before_pct, use.after_pct)
        for use in report.use
        if console.verbose or use.before_pct != use.after_pct
    ]
    if used:
        console.table(["resource", "allocated % now", "allocated % then"], used)
    if report.also_placed:
        others = format_count(len(report.also_placed), "pending pod")
        console.data(f"\n{others} would get a node too.")


def _show_changes(console: Console, report: "PlanReport") -> None:
    """Write the changes of existing objects; new objects only with ``-v``."""
    shown = [each for each in report.changes if console.verbose or each.change.value != "create"]
    if shown:
        console.data()
    for each in shown:
        console.data(f"{_MARKS[each.change.value]} {each.object}: {_change_text(each)}")
        for field in each.fields if console.verbose else each.fields[:FIELDS]:
            console.data(f"    {field.text}")
        if len(each.fields) > FIELDS and not console.verbose:
            console.data(f"    and {len(each.fields) - FIELDS} more fields; -v lists them")


def _change_text(change: "PlannedChange") -> str:
    """Return one change as text."""
    kind, created, deleted = change.change.value, len(change.created), len(change.deleted)
    if change.pods_before is None or change.pods_after is None:
        return {"create": "new", "unchanged": "unchanged", "update": "changed"}[kind]
    if kind == "unchanged":
        return "unchanged"
    if kind == "create":
        return f"new, {format_count(change.pods_after, 'pod')}"
    count = f"{change.pods_before:,} → {change.pods_after:,} pods"
    if kind == "replace":
        same = change.pods_before == change.pods_after
        what = "changed" if change.object.startswith("Pod ") else "template changed"
        size = "" if same else f"; {count}"
        old = format_count(deleted, "old pod")
        return f"{what}{size}: {old} would be replaced by {created:,} new"
    parts = [f"{format_count(created, 'new pod')}"] if created else []
    parts += [f"{format_count(deleted, 'pod')} would be deleted"] if deleted else []
    return f"{count}: {', '.join(parts)}"


def _show_placed(console: Console, report: "PlanReport") -> None:
    """Write the pods with their nodes; for many pods, the nodes with their number of pods."""
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
    console.data(f"\npending: {named}\n  {why or 'No reason: there are too many distinct pods.'}")
