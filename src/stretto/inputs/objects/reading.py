"""Reads manifests into objects with a namespace and a name, from files, folders or standard input.

Objects that are not scheduled are omitted and counted; a template is refused with the command that
renders it.
"""

from pathlib import Path
from typing import Final

import msgspec

from stretto.api.codec import decode_as, parse_object, set_fields
from stretto.api.edit.manifests import Manifest, load_manifests
from stretto.api.edit.skipped import SKIPPED_KINDS, SkippedObjects, skip_reason
from stretto.api.wire.kinds import DEFAULT_NAMESPACE, Kind
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_stdin, read_text
from stretto.inputs.objects.checked import ObjectChecks, checking
from stretto.inputs.objects.equal_specs import FieldChecks
from stretto.inputs.objects.folders import (
    NO_OBJECTS,
    has_no_objects,
    has_template,
    manifest_files,
    naming_templates,
    template_error,
    tool_of,
    why_unread,
)
from stretto.inputs.objects.relations import HeadedObject, InputObject
from stretto.inputs.workloads.expand import RAW_KINDS
from stretto.inputs.workloads.gangs import POD_GROUPS

_GENERATED: Final = 58
"""Maximum length of a generateName in a name, before five random characters."""
STDIN: Final = "-"
"""The path of standard input."""
_RAW: Final = RAW_KINDS | POD_GROUPS
"""Groups and kinds of other systems that are converted to pods and PodGroups."""
_READ: Final = _RAW | SKIPPED_KINDS
"""Groups and kinds that are read although they are not scheduled as they are."""


class ReadSettings(msgspec.Struct, frozen=True):
    """Settings for reading manifests."""

    #: Namespace of objects without one.
    namespace: str = DEFAULT_NAMESPACE
    #: True if unknown fields are reported as warnings instead of errors.
    lenient: bool = False
    #: Collects the errors of single objects; ``None`` raises the first.
    checks: ObjectChecks | None = None


DEFAULTS: Final = ReadSettings()
"""The first error is raised."""


def read_manifests(
    path: Path, settings: ReadSettings = DEFAULTS, skipped: SkippedObjects | None = None
) -> list[InputObject]:
    """The objects of a file, of the files below a folder by path, or of standard input.

    ``skipped`` counts the omitted objects.

    Raises:
        InputError: a file cannot be read, or an object is invalid and errors are not collected.
    """
    left_out = SkippedObjects() if skipped is None else skipped
    fields = FieldChecks(lenient=settings.lenient)
    if str(path) == STDIN:
        return _objects(read_stdin(), "standard input", settings, left_out, fields)
    if not path.is_dir():
        why = tool_of(path)
        if why:
            tool, _, command = why.partition(": ")
            raise InputError(str(path), f"a file of {tool}", "Kubernetes objects", command)
        return _objects(read_text(path), str(path), settings, left_out, fields)
    found: list[InputObject] = []
    for file in manifest_files(path, left_out):
        found.extend(_objects_of_folder(file, settings, left_out, fields))
    if not found and not left_out:
        raise InputError(str(path), None, "at least one Kubernetes object", "check the files")
    return found


def _objects_of_folder(
    file: Path, settings: ReadSettings, skipped: SkippedObjects, fields: FieldChecks
) -> list[InputObject]:
    """The objects of one file of a folder; a file of another format is listed and skipped."""
    if not file.stat().st_size:
        skipped.add_file(str(file), NO_OBJECTS)
        return []
    text = read_text(file)
    try:
        return _objects(text, str(file), settings, skipped, fields)
    except InputError as error:
        why = why_unread(file, text, error)
        if not why:
            raise
        skipped.add_file(str(file), why)
        return []


def _objects(
    text: str, where: str, settings: ReadSettings, skipped: SkippedObjects, fields: FieldChecks
) -> list[InputObject]:
    """The objects of one text, each with a namespace and a unique name."""
    try:
        raw = _RAW if settings.lenient else _READ
        found = load_manifests(text, where, skipped=skipped, raw=raw)
    except InputError as error:
        if has_template(text) and not has_no_objects(text, where):
            raise template_error(where, error) from error
        raise
    result: list[InputObject] = []
    for index, each in enumerate(found):
        label = _label(each, settings.namespace) if settings.checks else ""
        with checking(settings.checks, label), naming_templates(where):
            if why := _skip_reason(each.kind):
                fields.check_names(*each, where)
                skipped.add(each.kind, why)
                continue
            if (each.kind.group, each.kind.kind) in _RAW:
                fields.check_templates(*each, where)
            fields.check(*each, where)
            result.append(_placed(each, index, where, settings.namespace))
    if not found and not skipped:
        raise InputError(where, None, "at least one Kubernetes object", "check the file")
    return result


def _skip_reason(kind: Kind) -> str:
    """Reason for skipping an object whose fields are checked; empty for others."""
    return "" if (kind.group, kind.kind) in _RAW else skip_reason(kind)


def _label(manifest: Manifest, namespace: str) -> str:
    """Kind and name of an unchecked object, as ``InputObject.label``."""
    kind, body = manifest
    meta = parse_object(body, "object").get("metadata")
    known = meta if isinstance(meta, dict) else {}
    name = str(known.get("name") or f"{known.get('generateName') or ''}...")
    space = f"{known.get('namespace') or namespace}/" if kind.namespaced else ""
    return f"{kind.kind} {space}{name}"


def _placed(manifest: Manifest, index: int, where: str, namespace: str) -> InputObject:
    """One object with a namespace and a name."""
    kind, body = manifest
    meta = decode_as(HeadedObject, body).metadata
    name = meta.name or f"{meta.generate_name[:_GENERATED]}{index:05x}"
    if name != meta.name:
        body = set_fields(body, {("metadata", "name"): name})
    space = (meta.namespace or namespace) if kind.namespaced else ""
    if space != meta.namespace:
        body = set_fields(body, {("metadata", "namespace"): space})
    return InputObject(kind, space, name, body, where)
