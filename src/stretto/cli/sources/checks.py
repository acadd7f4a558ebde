"""Checks of scenarios, profiles and manifests without a run."""

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.inputs.objects.checked import ObjectChecks


def scenario_content(path: Path, plugins: tuple[Path, ...]) -> str:
    """Return the number of pods of a scenario as text.

    Raises:
        InputError: the scenario is invalid.
    """
    from stretto.base.rng import Rng
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profile
    from stretto.inputs.scenario.feed import materialise
    from stretto.inputs.scenario.read import load_scenario
    from stretto.sim.options import profile_source

    scenario = load_scenario(path)
    load_profile(profile_source(scenario, plugins=plugins), known_rules(plugins))
    feed = materialise(scenario, Rng(scenario.seed))
    return "; ".join((format_count(feed.pods, "pod"), *feed.notes))


def fleet_content(path: Path, plugins: tuple[Path, ...]) -> str:
    """Return the number of clusters and objects of a fleet as text.

    Raises:
        InputError: the fleet is invalid.
    """
    from stretto.sim.fleet.description import read_fleet

    del plugins
    fleet = read_fleet(path).federation
    clusters = format_count(len(fleet.clusters), "cluster")
    return f"{clusters}, {format_count(len(fleet.objects), 'object')}"


def profile_content(path: Path, plugins: tuple[Path, ...]) -> str:
    """Return the scheduler names of a profile as text.

    Raises:
        InputError: the profile is invalid.
    """
    from stretto.framework.profile.load import known_rules
    from stretto.framework.profile.profile import load_profiles

    found = load_profiles(path, known_rules(plugins))
    return f"scheduler names: {', '.join(n for each in found for n in each.scheduler_names)}"


def manifests_content(path: Path, checks: "ObjectChecks") -> str:
    """Return the number of objects of manifests, and of their pods, as text.

    Workloads become their pods, as in a plan. ``checks`` receives the errors of each object; a
    rejection by admission is a note, because the missing objects may exist in the cluster.

    Raises:
        InputError: a file cannot be read, or is a patch of Kustomize.
    """
    from stretto.inputs.objects.admission import InputContext
    from stretto.inputs.objects.kustomize import refuse_patch
    from stretto.inputs.objects.manifests import ManifestOptions, load_with_notes

    settings = ManifestOptions(keep_missing_owners=True)
    context = InputContext((), checks.refused, checks)
    _, notes = load_with_notes([path], settings, (), context)
    if checks.errors or any(each.errors for each in checks.objects()):
        refuse_patch(path)
    objects = checks.objects()
    pods = sum(each.pods for each in objects)
    counts = [format_count(len(objects), "object")]
    counts += [format_count(pods, "pod")] if pods else []
    return "; ".join((", ".join(counts), *notes, *checks.refused))
