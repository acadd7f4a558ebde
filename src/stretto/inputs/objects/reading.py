"""Reads manifests into objects with a namespace and a name, from files, folders or standard input.

Objects that are not scheduled are left out and counted; a template is refused with the command that
renders it.
"""

from pathlib import Path
from typing import Final

from stretto.api.codec import decode_as, set_fields
from stretto.api.edit.manifests import Manifest, load_manifests
from stretto.api.edit.skipped import SkippedObjects
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_stdin, read_text
from stretto.inputs.objects.admission import check_object
from stretto.inputs.objects.folders import (
    NO_OBJECTS,
    TEMPLATE,
    has_no_objects,
    has_template,
    manifest_files,
    template_error,
    tool_of,
)
from stretto.inputs.objects.objects import NAMESPACE
from stretto.inputs.objects.relations import HeadedObject, InputObject
from stretto.inputs.workloads.expand import RAW_KINDS
from stretto.inputs.workloads.gangs import POD_GROUPS

STDIN: Final = "-"
"""The path of standard input."""
_RAW: Final = RAW_KINDS | POD_GROUPS
"""Groups and kinds of other systems that become pods and PodGroups."""


def read_manifests(
    path: Path,
    namespace: str = NAMESPACE,
    skipped: SkippedObjects | None = None,
    *,
    lenient: bool = False,
) -> list[InputObject]:
    """The objects of a file, of the files below a folder by path, or of standard input."""
    left_out = SkippedObjects() if skipped is None else skipped
    if str(path) == STDIN:
        return _objects(read_stdin(), "standard input", namespace, left_out, lenient=lenient)
    if not path.is_dir():
        why = tool_of(path)
        if why:
            tool, _, command = why.partition(": ")
            raise InputError(str(path), f"a file of {tool}", "Kubernetes objects", command)
        return _objects(read_text(path), str(path), namespace, left_out, lenient=lenient)
    found: list[InputObject] = []
    for file in manifest_files(path, left_out):
        found.extend(_objects_of_folder(file, namespace, left_out, lenient=lenient))
    if not found and not left_out:
        raise InputError(str(path), None, "at least one Kubernetes object", "check the files")
    return found


def _objects_of_folder(
    file: Path, namespace: str, skipped: SkippedObjects, *, lenient: bool
) -> list[InputObject]:
    """The objects of one file of a folder; a file of another format is named and left out."""
    if not file.stat().st_size:
        skipped.add_file(str(file), NO_OBJECTS)
        return []
    text = read_text(file)
    try:
        return _objects(text, str(file), namespace, skipped, lenient=lenient)
    except InputError:
        if has_no_objects(text, str(file)):
            skipped.add_file(str(file), NO_OBJECTS)
        elif has_template(text):
            skipped.add_file(str(file), TEMPLATE)
        else:
            raise
        return []


def _objects(
    text: str, where: str, namespace: str, skipped: SkippedObjects, *, lenient: bool
) -> list[InputObject]:
    """The objects of one text, each with a namespace and a unique name."""
    try:
        found = load_manifests(text, where, skipped=skipped, raw=_RAW)
        for kind, body in found:
            check_object(kind, body, where, lenient=lenient)
        result = [_placed(each, index, where, namespace) for index, each in enumerate(found)]
    except InputError as error:
        if has_template(text) and not has_no_objects(text, where):
            raise template_error(where, error) from error
        raise
    if not result and not skipped:
        raise InputError(where, None, "at least one Kubernetes object", "check the file")
    return result


def _placed(manifest: Manifest, index: int, where: str, namespace: str) -> InputObject:
    """One object with a namespace and a name."""
    kind, body = manifest
    meta = decode_as(HeadedObject, body).metadata
    name = meta.name or f"{meta.generate_name}{index:05x}"
    if name != meta.name:
        body = set_fields(body, {("metadata", "name"): name})
    space = (meta.namespace or namespace) if kind.namespaced else ""
    if space != meta.namespace:
        body = set_fields(body, {("metadata", "namespace"): space})
    return InputObject(kind, space, name, body, where)
