"""Plans of pasted objects and of moves for the dashboard, on a copy of the shown state."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from stretto.base.errors import InputError
from stretto.cli.options import CommandContext
from stretto.cli.sources.states import StateContents, StateOptions, read_state, rules_of

if TYPE_CHECKING:
    from stretto.sim.history.plan import PlanReport
    from stretto.web.views.parts import (
        DashboardParts,
        Defragmenter,
        DrainPlanner,
        Planner,
        PlanPreview,
        StartEstimator,
    )


TIER: Final = "numpy"
"""Kernels of a plan, which need no compilation."""
PASTED: Final = "objects"
"""Name of the pasted text in messages, instead of the path of a temporary file."""


def preview_parts(
    common: CommandContext, opts: StateOptions, plugins: tuple[Path, ...]
) -> "DashboardParts":
    """Return the additional parts of a dashboard: run records, and plans on the state."""
    from stretto.cli.sources.run_studies import kept_studies
    from stretto.web.views.parts import DashboardParts

    def read() -> StateContents:
        from stretto.plane.copy import SchedulingRules

        return read_state(common, opts, SchedulingRules("", TIER, plugins=plugins))

    return DashboardParts(
        kept_studies(),
        planner_on(read, plugins),
        defragmenter_on(read),
        estimator_on(read, plugins),
        drainer_on(read, plugins),
    )


def planner_on(read: Callable[[], StateContents], plugins: tuple[Path, ...] = ()) -> "Planner":
    """Return a function that plans YAML on the state that ``read`` returns."""

    def previewed(text: str) -> "PlanPreview":
        from stretto.cli.sources.planning import planned
        from stretto.inputs.objects.manifests import ManifestOptions

        state, namespace = read()
        settings = ManifestOptions(namespace or "default", keep_missing_owners=True)
        with TemporaryDirectory(prefix="stretto-") as folder:
            path = Path(folder) / "objects.yaml"
            path.write_text(text, encoding="utf-8")
            rules = rules_of(state, "", TIER, plugins)
            try:
                report, _, notes = planned(state, [path], settings, rules)
            except InputError as error:
                where = error.where.replace(str(path), PASTED)
                raise InputError(where, error.value, error.expected, error.hint) from None
        said = [each.replace(str(path), PASTED) for each in (*report.refused, *notes)]
        return _preview(report, said)

    return previewed


def defragmenter_on(read: Callable[[], StateContents]) -> "Defragmenter":
    """Return a function that plans moves on the state that ``read`` returns."""
    from stretto.cli.sources.moves import planned_moves

    return lambda goal, budget: planned_moves(read().state, goal, budget, TIER)


def estimator_on(
    read: Callable[[], StateContents], plugins: tuple[Path, ...] = ()
) -> "StartEstimator":
    """Return a function that estimates starts of pods on the state that ``read`` returns."""

    def estimated(pod: str) -> str:
        from stretto.cli.views.expected_start import estimate_start

        return estimate_start(pod, read().state, plugins).sentence

    return estimated


def drainer_on(read: Callable[[], StateContents], plugins: tuple[Path, ...] = ()) -> "DrainPlanner":
    """Return a function that plans the drain of a node on the state that ``read`` returns."""

    def previewed(node: str) -> "PlanPreview":
        from stretto.explain.words.amounts import format_count
        from stretto.sim.history.plan import plan_drain

        state, _ = read()
        report = plan_drain(state, node, rules_of(state, "", TIER, plugins))
        pending = sum(len(each.pods) for each in report.pending)
        ended = report.pods - len(report.placed) - pending
        words = "of a DaemonSet or of the node itself would end with it"
        return _preview(report, [f"{format_count(ended, 'pod')} {words}."] if ended else [])

    return previewed


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
