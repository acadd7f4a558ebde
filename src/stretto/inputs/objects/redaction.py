"""Redaction: the part of an object that a recording keeps, without secrets.

The table of kinds lists the fields of each kind that affect the placement of pods
(``KindEntry.kept``). A recording omits environment, commands, probes, mounts, configuration, secret
volumes, parameters and secrets of storage drivers, and annotations that no scheduler reads, also in
pod templates. It keeps names, labels and owners, because rules and queries need them: rename
objects before recording if names are confidential.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from stretto.api.kinds.table import entry_of
from stretto.api.wire.kinds import Kind

OUR_NOTES: Final = (
    "stretto.dev/",
    "godel.bytedance.com/",
    "katalyst.kubewharf.io/",
    "scheduling.k8s.io/",
    "volume.kubernetes.io/",
    "pv.kubernetes.io/",
    "kubernetes.io/config.mirror",
)
"""Prefixes of the annotations that scheduling reads; the mirror annotation marks static pods."""
_META: Final = (
    "name",
    "namespace",
    "uid",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
)
_METADATA: Final = ":metadata"
"""End of a path below which only the kept part of metadata stays."""

_Tree = dict[str, Any]
"""Members by name: ``None`` keeps a value, a tree keeps a part of it."""


def redacted(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an object that a recording keeps.

    Args:
        kind: its kind; without ``KindEntry.kept``, only metadata is kept.
        body: its decoded JSON.
    """
    rest = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
    tree = _tree(entry_of(kind).kept)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": _metadata(body.get("metadata") or {}),
        **{name: {} for name in tree if isinstance(tree[name], dict)},
        **_part(rest, tree),
    }


def _metadata(meta: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: meta[name] for name in _META if not _is_empty(meta.get(name))}
    notes = {
        key: value
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(OUR_NOTES)
    }
    if notes:
        kept["annotations"] = notes
    return kept


@cache
def _tree(paths: tuple[str, ...]) -> _Tree:
    """Paths as one tree; the syntax of paths is that of ``stretto.api.kinds.kept``."""
    tree: _Tree = {}
    for path in paths:
        *above, last = path.split(".")
        node = tree
        for name in above:
            node = node.setdefault(name, {})
        node[last] = None
    return tree


def _part(value: Mapping[str, Any], tree: _Tree) -> dict[str, Any]:
    """The part of an object that a tree keeps; empty members are omitted."""
    kept: dict[str, Any] = {}
    if "*" in tree:
        named = {_name(each) for each in tree}
        kept = {name: each for name, each in value.items() if name not in named}
    for each, below in tree.items():
        name = _name(each)
        found: Any = value.get(name)
        if _is_empty(found):
            continue
        if each.endswith(_METADATA):
            found = _metadata(found)
        elif each.endswith("]"):
            found = [_part(item, below) for item in found]
            if each.endswith("[+]"):
                found = [item for item in found if len(item) > 1]
        elif below is not None:
            found = _part(found, below)
        if not _is_empty(found):
            kept[name] = found
    return kept


def _name(step: str) -> str:
    """The member in a step of a path."""
    return step.removesuffix(_METADATA).removesuffix("[]").removesuffix("[+]")


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])
