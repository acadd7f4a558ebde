"""Kubernetes objects from files, folders or standard input, checked as a whole.

The input is that of ``kubectl apply -R -f``: YAML or JSON, one object or many, a folder with
sub-folders, or ``-`` for standard input. Each object is decoded in its full type, so a malformed
field is refused with file and path before a run starts. Objects that are not scheduled are left out
and counted.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from stretto.api.codec import decode_as, set_fields
from stretto.api.edit.skipped import SkippedObjects
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.inputs.objects.admission import InputAdmission, admitted_late
from stretto.inputs.objects.controllers import expand
from stretto.inputs.objects.objects import NAMESPACE, SCHEDULER_NAME
from stretto.inputs.objects.reading import read_manifests
from stretto.inputs.objects.relations import (
    InputObject,
    check_groups,
    check_names,
    check_owners,
)
from stretto.inputs.workloads.expand import expand_workloads
from stretto.inputs.workloads.gangs import translate_groups

_NOT_OURS: Final = ("", "default-scheduler")
"""Scheduler names that an embedded run replaces: none, or Kubernetes' default."""


class ManifestOptions(msgspec.Struct, frozen=True):
    """Options for reading manifests."""

    #: Namespace of objects without one.
    namespace: str = NAMESPACE
    #: Whether owners may be missing from the input, as in a dump of pods.
    keep_missing_owners: bool = False
    #: Whether controllers are replaced by their pods (an API server has controllers of its own).
    expand_controllers: bool = True
    #: Whether unknown fields are reported as warnings instead of errors.
    lenient: bool = False


DEFAULTS: Final = ManifestOptions()
"""Options of an embedded run."""


class InputContext(NamedTuple):
    """The objects to which an input is added."""

    #: All objects, which admission reads: classes, LimitRanges, quotas and what counts in them.
    objects: Sequence[tuple[Kind, bytes]] = ()
    #: Receives what admission forbids; ``None`` raises the first refusal.
    refused: list[str] | None = None


class LoadedObjects(NamedTuple):
    """The objects of an input."""

    #: The objects.
    objects: list[InputObject]
    #: Sentences about the objects and files that are left out.
    notes: list[str]


def load_with_notes(
    paths: Iterable[Path],
    options: ManifestOptions = DEFAULTS,
    nodes: Sequence[Node] = (),
    context: InputContext = InputContext(),  # noqa: B008  (immutable)
) -> LoadedObjects:
    """``load_objects``, with the sentences about the objects and files that are left out."""
    skipped = SkippedObjects()
    found = load_objects(paths, options, nodes, skipped, context)
    return LoadedObjects(found, skipped.lines())


def load_objects(
    paths: Iterable[Path],
    options: ManifestOptions = DEFAULTS,
    nodes: Sequence[Node] = (),
    skipped: SkippedObjects | None = None,
    context: InputContext = InputContext(),  # noqa: B008  (immutable)
) -> list[InputObject]:
    """All objects of some files as the cluster would hold them, checked as a whole.

    Controllers are replaced by their pods.

    ``nodes`` are nodes from elsewhere, for DaemonSets; those of the input are added. ``skipped``
    counts the objects that are left out because they are not scheduled. ``context`` has the objects
    to which the input is added.

    Raises:
        InputError: an object is invalid.
        ForbiddenError: admission refuses an object, and ``context`` does not collect refusals.
    """
    left_out = SkippedObjects() if skipped is None else skipped
    found = [
        each
        for path in paths
        for each in read_manifests(path, options.namespace, left_out, lenient=options.lenient)
    ]
    check_names(found)
    check_owners(found, keep_missing=options.keep_missing_owners)
    if options.expand_controllers:
        found = _as_held(expand_workloads(found, left_out), nodes, context)
        found = [_adopted(each) for each in translate_groups(found)]
        check_names(found)
    check_groups(found)
    return found


def _as_held(
    found: Sequence[InputObject], nodes: Sequence[Node], context: InputContext
) -> list[InputObject]:
    """The objects after admission, with controllers replaced by their pods."""
    admission = InputAdmission(found, context.objects, context.refused)
    first = [admission.admitted(each) for each in found if not admitted_late(each.kind)]
    held = {each.key: each for each in first if each is not None}
    every = {each.metadata.name: each for each in (*nodes, *nodes_of(held.values()))}
    kept = [each for each in found if each.key in held or admitted_late(each.kind)]
    later = [held.get(each.key, each) for each in kept]
    return expand(later, list(every.values()), admission)


def nodes_of(objects: Iterable[InputObject]) -> list[Node]:
    """The Nodes among some objects as structs."""
    return [decode_as(Node, each.body) for each in objects if each.kind is NODE]


def _adopted(item: InputObject) -> InputObject:
    """A pod with the default scheduler, assigned to Stretto for an embedded run."""
    if item.kind is not POD:
        return item
    spec = decode_pod_head(item.body).spec
    if spec.scheduler_name not in _NOT_OURS:
        return item
    body = set_fields(item.body, {("spec", "schedulerName"): SCHEDULER_NAME})
    return msgspec.structs.replace(item, body=body)
