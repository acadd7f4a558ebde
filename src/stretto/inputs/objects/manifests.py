"""Kubernetes objects from files, folders or standard input, checked as a whole.

The input is that of ``kubectl apply -R -f``: YAML or JSON, one object or many, a folder with
sub-folders, or ``-`` for standard input. Each object is decoded in its full type, so a malformed
field is refused with file and path before a run starts. Objects that are not scheduled are omitted
and counted.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.api.edit.skipped import SkippedObjects
from stretto.api.types.core import Node
from stretto.inputs.objects.admission import NO_CONTEXT, InputAdmission, InputContext
from stretto.inputs.objects.checked import checking
from stretto.inputs.objects.controllers import held_objects
from stretto.inputs.objects.kustomize import naming_patches
from stretto.inputs.objects.reading import DEFAULTS as READING
from stretto.inputs.objects.reading import ReadSettings, read_manifests
from stretto.inputs.objects.relations import (
    InputObject,
    check_groups,
    check_names,
    check_owners,
)
from stretto.inputs.objects.volume_bindings import with_volumes
from stretto.inputs.workloads.expand import expand_workloads
from stretto.inputs.workloads.gangs import translate_groups
from stretto.inputs.workloads.scaled import adopted, scaled_workloads


class ManifestOptions(msgspec.Struct, frozen=True):
    """Options for reading manifests."""

    #: Namespace of objects without one.
    namespace: str = READING.namespace
    #: True if owners may be missing from the input, as in a dump of pods.
    keep_missing_owners: bool = False
    #: True if controllers are replaced by their pods (an API server has controllers of its own).
    expand_controllers: bool = True
    #: True if workloads that a ScalingPolicy of the input scales are kept, because a run scales
    #: them.
    keeps_scaled: bool = False
    #: True if unknown fields are reported as warnings instead of errors.
    lenient: bool = False


DEFAULTS: Final = ManifestOptions()
"""Options of an embedded run."""


class LoadedObjects(NamedTuple):
    """The objects of an input."""

    #: The objects.
    objects: list[InputObject]
    #: Sentences about omitted objects and files.
    notes: list[str]


def load_with_notes(
    paths: Iterable[Path],
    options: ManifestOptions = DEFAULTS,
    nodes: Sequence[Node] = (),
    context: InputContext = NO_CONTEXT,
) -> LoadedObjects:
    """``load_objects``, with sentences about omitted objects and files."""
    skipped = SkippedObjects()
    found = load_objects(paths, options, nodes, skipped, context)
    return LoadedObjects(found, skipped.lines())


def load_objects(
    paths: Iterable[Path],
    options: ManifestOptions = DEFAULTS,
    nodes: Sequence[Node] = (),
    skipped: SkippedObjects | None = None,
    context: InputContext = NO_CONTEXT,
) -> list[InputObject]:
    """All objects of some files in their form in the cluster, checked as a whole.

    Controllers are replaced by their pods.

    ``nodes`` are additional nodes for DaemonSets. ``skipped`` counts the omitted objects, which are
    not scheduled. ``context`` contains the objects to which the input is added.

    Raises:
        InputError: an object is invalid.
        ForbiddenError: admission refuses an object, and ``context`` does not collect refusals.
    """
    named, left_out = tuple(paths), SkippedObjects() if skipped is None else skipped
    with naming_patches(named):
        return _loaded(named, options, nodes, left_out, context)


def _loaded(
    paths: Sequence[Path],
    options: ManifestOptions,
    nodes: Sequence[Node],
    left_out: SkippedObjects,
    context: InputContext,
) -> list[InputObject]:
    """``load_objects`` without a special error for patches."""
    checks = context.checks
    settings = ReadSettings(options.namespace, options.lenient, checks)
    found = [each for path in paths for each in read_manifests(path, settings, left_out)]
    with checking(checks, ""):
        check_names(found)
        check_owners(found, keep_missing=options.keep_missing_owners)
    if options.expand_controllers:
        admission = InputAdmission(((each.kind, each.body) for each in found), context)
        scaled = scaled_workloads(found) if options.keeps_scaled else frozenset()
        found = expand_workloads(found, left_out, checks)
        found = held_objects(found, nodes, admission, scaled)
        found = with_volumes(found, context.objects)
        with checking(checks, ""):
            found = [adopted(each) for each in translate_groups(found)]
            check_names(found)
    if checks is None or checks.is_clean:
        with checking(checks, ""):
            check_groups(found, context.objects, may_be_empty=options.keep_missing_owners)
    return found
