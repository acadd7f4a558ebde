"""Kubernetes objects from files, folders or standard input, checked as a whole.

The input is that of ``kubectl apply -f``: YAML or JSON, one object or many, a folder of files, or
``-`` for standard input. Each object is decoded in its full type, so a malformed field is refused
with file and path before a run starts.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.codec import decode, decode_as, set_fields
from stretto.api.edit.manifests import load_manifests
from stretto.api.types.core import Node
from stretto.api.types.heads import decode_pod_head
from stretto.api.validation import validate
from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import InputError
from stretto.inputs.neutral.files import read_stdin, read_text
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.controllers import expand
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
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Suffixes of manifest files in a folder."""
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
    paths: Iterable[Path], options: ManifestOptions = DEFAULTS, nodes: Sequence[Node] = ()
) -> list[InputObject]:
    """All objects of some files, checked as a whole, with controllers replaced by their pods.

    ``nodes`` are nodes from elsewhere, for DaemonSets; those of the input are added.
    """
    found = [each for path in paths for each in read_manifests(path, options.namespace)]
    check_names(found)
    check_owners(found, keep_missing=options.keep_missing_owners)
    if options.expand_controllers:
        every = {each.metadata.name: each for each in (*nodes, *nodes_of(found))}
        found = [_adopted(each) for each in expand(found, list(every.values()))]
        check_names(found)
    check_groups(found)
    return found


def read_manifests(path: Path, namespace: str = NAMESPACE) -> list[InputObject]:
    """The objects of a file, of a folder's files in order of name, or of standard input."""
    if str(path) == STDIN:
        return _objects(read_stdin(), "standard input", namespace)
    if not path.is_dir():
        return _objects(read_text(path), str(path), namespace)
    files = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES)
    if not files:
        expected = f"a folder with {', '.join(SUFFIXES)} files"
        raise InputError(str(path), None, expected, "name the folder of the manifests")
    return [each for file in files for each in _objects(read_text(file), str(file), namespace)]


def nodes_of(objects: Iterable[InputObject]) -> list[Node]:
    """The Nodes among some objects as structs."""
    return [decode_as(Node, each.body) for each in objects if each.kind is NODE]


def _objects(text: str, where: str, namespace: str) -> list[InputObject]:
    """The objects of one text, each with a namespace and a unique name."""
    result = []
    for index, (kind, body) in enumerate(load_manifests(text, where, skip=True)):
        with inside(where):
            validate(decode(kind, body))
        meta = decode_as(HeadedObject, body).metadata
        name = meta.name or f"{meta.generate_name}{index:05x}"
        if name != meta.name:
            body = set_fields(body, {("metadata", "name"): name})
        space = (meta.namespace or namespace) if kind.namespaced else ""
        if space != meta.namespace:
            body = set_fields(body, {("metadata", "namespace"): space})
        result.append(InputObject(kind, space, name, body, where))
    if not result:
        raise InputError(where, None, "at least one Kubernetes object", "check the file")
    return result


def _adopted(item: InputObject) -> InputObject:
    """A pod with the default scheduler, assigned to Stretto for an embedded run."""
    if item.kind is not POD:
        return item
    spec = decode_pod_head(item.body).spec
    if spec.scheduler_name not in _NOT_OURS:
        return item
    body = set_fields(item.body, {("spec", "schedulerName"): SCHEDULER_NAME})
    return msgspec.structs.replace(item, body=body)
