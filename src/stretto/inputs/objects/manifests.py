"""Kubernetes objects from files, folders or standard input, checked as a whole.

What ``kubectl apply -f`` takes is taken here too: YAML or JSON, one object or many, a folder of
files, ``-`` for a pipe. Each object is read once in its full type, so that a malformed field is
refused with file and path before a run begins and not in the middle of it.
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
"""The path that means standard input."""
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""The files of a folder that hold manifests."""
_NOT_OURS: Final = ("", "default-scheduler")
"""Schedulers that an embedded run stands in for: none was named, or Kubernetes' own."""


class ManifestOptions(msgspec.Struct, frozen=True):
    """How manifests are taken."""

    #: Namespace of objects that name none.
    namespace: str = NAMESPACE
    #: Whether owners may be missing from the input, as in a dump of pods alone.
    keep_missing_owners: bool = False
    #: Whether controllers are replaced by their pods (an API server has controllers of its own).
    expand_controllers: bool = True


DEFAULTS: Final = ManifestOptions()
"""Manifests as an embedded run takes them."""


def load_objects(
    paths: Iterable[Path], options: ManifestOptions = DEFAULTS, nodes: Sequence[Node] = ()
) -> list[InputObject]:
    """All objects of some files, checked among themselves, controllers turned into their pods.

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
    """The objects of one file, of a folder's files in the order of their names, or of a pipe."""
    if str(path) == STDIN:
        return _objects(read_stdin(), "standard input", namespace)
    if not path.is_dir():
        return _objects(read_text(path), str(path), namespace)
    files = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES)
    if not files:
        expected = f"a folder with {', '.join(SUFFIXES)} files"
        raise InputError(str(path), None, expected, "name the folder that holds the manifests")
    return [each for file in files for each in _objects(read_text(file), str(file), namespace)]


def nodes_of(objects: Iterable[InputObject]) -> list[Node]:
    """The Nodes among some objects, in their full type."""
    return [decode_as(Node, each.body) for each in objects if each.kind is NODE]


def _objects(text: str, where: str, namespace: str) -> list[InputObject]:
    """The objects of one text, each with a namespace and a name of its own."""
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
    """A pod that nobody else would schedule in an embedded run, made ours."""
    if item.kind is not POD:
        return item
    spec = decode_pod_head(item.body).spec
    if spec.scheduler_name not in _NOT_OURS:
        return item
    body = set_fields(item.body, {("spec", "schedulerName"): SCHEDULER_NAME})
    return msgspec.structs.replace(item, body=body)
