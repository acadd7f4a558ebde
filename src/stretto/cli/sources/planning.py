"""Plans of manifest files on a copy of a state, for ``plan`` and for the dashboard."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stretto.inputs.objects.manifests import ManifestOptions
    from stretto.plane.copy import SchedulingRules, StoreState
    from stretto.sim.history.plan import PlanReport


class PlannedFiles(NamedTuple):
    """Result of submitting the objects of some files."""

    #: The plan; its refusals begin with those of admission.
    report: "PlanReport"
    #: Refusals of admission.
    refused: list[str]
    #: Sentences about omitted objects and files.
    notes: list[str]


def planned(
    state: "StoreState",
    paths: Sequence[Path],
    settings: "ManifestOptions",
    rules: "SchedulingRules",
) -> PlannedFiles:
    """Plan the objects of files on a copy of a state; nothing is written.

    Raises:
        InputError: a file or an object is invalid.
    """
    import msgspec

    from stretto.inputs.objects.admission import InputContext
    from stretto.inputs.objects.manifests import load_with_notes
    from stretto.sim.history.plan import plan
    from stretto.sim.submission.applied import nodes_of

    refused: list[str] = []
    context = InputContext([(each.kind, each.body) for each in state.records], refused)
    objects, notes = load_with_notes(paths, settings, nodes_of(state.records), context)
    report = plan(state, objects, rules)
    report = msgspec.structs.replace(report, refused=(*refused, *report.refused))
    return PlannedFiles(report, refused, notes)
