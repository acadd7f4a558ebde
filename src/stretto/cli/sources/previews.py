"""Plans of pasted objects for the dashboard, on a copy of the state that it shows."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, read_state, rules_of

if TYPE_CHECKING:
    from stretto.sim.history.plan import PlanReport
    from stretto.web.views.parts import Planner, PlanPreview


def planner(common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]) -> "Planner":
    """A function that plans YAML on the state of the options, read afresh each time."""

    def planned(text: str) -> "PlanPreview":
        from stretto.inputs.objects.admission import InputContext
        from stretto.inputs.objects.manifests import ManifestOptions, load_with_notes
        from stretto.plane.copy import SchedulingRules
        from stretto.sim.history.plan import plan
        from stretto.sim.submission.applied import nodes_of

        state, namespace = read_state(common, opts, SchedulingRules("", "numpy", plugins=plugins))
        settings = ManifestOptions(namespace or "default", keep_missing_owners=True)
        refused: list[str] = []
        context = InputContext([(each.kind, each.body) for each in state.records], refused)
        with TemporaryDirectory(prefix="stretto-") as folder:
            path = Path(folder) / "objects.yaml"
            path.write_text(text, encoding="utf-8")
            nodes = nodes_of(state.records)
            objects, notes = load_with_notes([path], settings, nodes, context)
        report = plan(state, objects, rules_of(state, "", "numpy", plugins))
        return _preview(report, [*refused, *report.refused, *notes])

    return planned


def _preview(report: "PlanReport", notes: list[str]) -> "PlanPreview":
    from stretto.explain.words.amounts import format_count
    from stretto.web.views.parts import PlannedPod, PlanPreview

    pods = [PlannedPod(each.pod, each.node) for each in report.placed]
    for group in report.pending:
        reason = group.reason.sentence if group.reason is not None else group.message
        pods += [PlannedPod(pod, "", reason) for pod in group.pods]
    pods += [PlannedPod(each.pod, "", each.message) for each in report.kubelet_refused]
    summary = f"{len(report.placed):,} of {format_count(report.pods, 'pod')} would be placed"
    if report.victims:
        summary += f", {format_count(len(report.victims), 'pod')} would be evicted"
    victims = [(each.pod, each.node) for each in report.victims]
    return PlanPreview(f"{summary}.", pods, victims, notes)
