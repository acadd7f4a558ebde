"""Kubernetes objects from files, folders or standard input, checked as a whole.

The input is that of ``kubectl apply -R -f``: YAML or JSON, one object or many, a folder with
sub-folders, or ``-`` for standard input. Each object is decoded in its full type, so a malformed
field is refused with file and path before a run starts. Objects that are not scheduled are left out
and counted.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.codec import decode_as, set_fields
from stretto.api.edit.skipped import SkippedObjects
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE, POD
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


DEFAULTS: Final = ManifestOptions()
"""Options of an embedded run."""


def load_objects(
    paths: Iterable[Path],
    options: ManifestOptions = DEFAULTS,
    nodes: Sequence[Node] = (),
    skipped: SkippedObjects | None = None,
) -> list[InputObject]:
    """All objects of some files, checked as a whole, with controllers replaced by their pods.

    ``nodes`` are nodes from elsewhere, for DaemonSets; those of the input are added. ``skipped``
    counts the objects that are left out because they are not scheduled.
    """
    left_out = SkippedObjects() if skipped is None else skipped
    found = [each for path in paths for each in read_manifests(path, options.namespace, left_out)]
    check_names(found)
    check_owners(found, keep_missing=options.keep_missing_owners)
    if options.expand_controllers:
        every = {each.metadata.name: each for each in (*nodes, *nodes_of(found))}
        found = expand(expand_workloads(found, left_out), list(every.values()))
        found = [_adopted(each) for each in translate_groups(found)]
        check_names(found)
    check_groups(found)
    return found


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
