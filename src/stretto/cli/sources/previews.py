"""Plans of pasted objects and of moves for the dashboard, on a copy of the state that it shows."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateOptions, read_state, rules_of

if TYPE_CHECKING:
    from stretto.control.controllers.move_plan import DefragPlan
    from stretto.sim.history.plan import PlanReport
    from stretto.state.work.rescheduling import ReschedulingGoal
    from stretto.web.views.parts import Defragmenter, Planner, PlanPreview


def planner(common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]) -> "Planner":
    """A function that plans YAML on the state of the options, read afresh each time."""

    def previewed(text: str) -> "PlanPreview":
        from stretto.cli.sources.planning import planned
        from stretto.inputs.objects.manifests import ManifestOptions
        from stretto.plane.copy import SchedulingRules

        state, namespace = read_state(common, opts, SchedulingRules("", "numpy", plugins=plugins))
        settings = ManifestOptions(namespace or "default", keep_missing_owners=True)
        with TemporaryDirectory(prefix="stretto-") as folder:
            path = Path(folder) / "objects.yaml"
            path.write_text(text, encoding="utf-8")
            rules = rules_of(state, "", "numpy", plugins)
            report, _, notes = planned(state, [path], settings, rules)
        return _preview(report, [*report.refused, *notes])

    return previewed


def defragmenter(common: CommandContext, opts: StateOptions) -> "Defragmenter":
    """A function that plans moves on the state of the options, read afresh each time."""

    def planned(goal: "ReschedulingGoal", budget: int) -> "DefragPlan":
        from stretto.cli.sources.moves import planned_moves
        from stretto.plane.copy import SchedulingRules

        state = read_state(common, opts, SchedulingRules("", "numpy")).state
        return planned_moves(state, goal, budget, "numpy")

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
