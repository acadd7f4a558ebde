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

from stretto.api.codec import decode, decode_as, set_fields
from stretto.api.edit.manifests import Manifest, load_manifests
from stretto.api.edit.skipped import SkippedObjects
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.api.validation import validate
from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_stdin, read_text
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.controllers import expand
from stretto.inputs.objects.folders import (
    NO_OBJECTS,
    TEMPLATE,
    has_no_objects,
    has_template,
    manifest_files,
    template_error,
)
from stretto.inputs.objects.objects import NAMESPACE, SCHEDULER_NAME
from stretto.inputs.objects.relations import (
    HeadedObject,
    InputObject,
    check_groups,
    check_names,
    check_owners,
)

STDIN: Final = "-"
"""The path of standard input."""
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
        found = [_adopted(each) for each in expand(found, list(every.values()))]
        check_names(found)
    check_groups(found)
    return found


def read_manifests(
    path: Path, namespace: str = NAMESPACE, skipped: SkippedObjects | None = None
) -> list[InputObject]:
    """The objects of a file, of the files below a folder by path, or of standard input."""
    left_out = SkippedObjects() if skipped is None else skipped
    if str(path) == STDIN:
        return _objects(read_stdin(), "standard input", namespace, left_out)
    if not path.is_dir():
        return _objects(read_text(path), str(path), namespace, left_out)
    found: list[InputObject] = []
    for file in manifest_files(path, left_out):
        found.extend(_objects_of_folder(file, namespace, left_out))
    if not found and not left_out:
        raise InputError(str(path), None, "at least one Kubernetes object", "check the files")
    return found


def _objects_of_folder(file: Path, namespace: str, skipped: SkippedObjects) -> list[InputObject]:
    """The objects of one file of a folder; a file of another format is named and left out."""
    if not file.stat().st_size:
        skipped.add_file(str(file), NO_OBJECTS)
        return []
    text = read_text(file)
    try:
        return _objects(text, str(file), namespace, skipped)
    except InputError:
        if has_template(text):
            skipped.add_file(str(file), TEMPLATE)
        elif has_no_objects(text, str(file)):
            skipped.add_file(str(file), NO_OBJECTS)
        else:
            raise
        return []


def nodes_of(objects: Iterable[InputObject]) -> list[Node]:
    """The Nodes among some objects as structs."""
    return [decode_as(Node, each.body) for each in objects if each.kind is NODE]


def _objects(text: str, where: str, namespace: str, skipped: SkippedObjects) -> list[InputObject]:
    """The objects of one text, each with a namespace and a unique name."""
    try:
        found = load_manifests(text, where, skipped=skipped)
        result = [_placed(each, index, where, namespace) for index, each in enumerate(found)]
    except InputError as error:
        if has_template(text):
            raise template_error(where, error) from error
        raise
    if not result and not skipped:
        raise InputError(where, None, "at least one Kubernetes object", "check the file")
    return result


def _placed(manifest: Manifest, index: int, where: str, namespace: str) -> InputObject:
    """One checked object with a namespace and a name."""
    kind, body = manifest
    with inside(where):
        validate(decode(kind, body))
    meta = decode_as(HeadedObject, body).metadata
    name = meta.name or f"{meta.generate_name}{index:05x}"
    if name != meta.name:
        body = set_fields(body, {("metadata", "name"): name})
    space = (meta.namespace or namespace) if kind.namespaced else ""
    if space != meta.namespace:
        body = set_fields(body, {("metadata", "namespace"): space})
    return InputObject(kind, space, name, body, where)


def _adopted(item: InputObject) -> InputObject:
    """A pod with the default scheduler, assigned to Stretto for an embedded run."""
    if item.kind is not POD:
        return item
    spec = decode_pod_head(item.body).spec
    if spec.scheduler_name not in _NOT_OURS:
        return item
    body = set_fields(item.body, {("spec", "schedulerName"): SCHEDULER_NAME})
    return msgspec.structs.replace(item, body=body)
