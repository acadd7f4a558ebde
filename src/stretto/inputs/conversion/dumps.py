"""A dump of a cluster as a timeline: ``kubectl get nodes,pods -A -o yaml``, or a folder of dumps.

Everything exists at second 0, and the recording covers one hour without changes. A pod with a node
keeps it; a pod without one is pending. Finished pods, and kinds that a recording does not contain,
are omitted and counted.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.edit.skipped import SkippedObjects
from stretto.api.kinds.table import recorded_kinds
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import NODE, POD, POD_GROUP, Kind
from stretto.base.errors import InputError
from stretto.inputs.conversion.alibaba import translated
from stretto.inputs.conversion.timeline import Timeline, TimelineCounts
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.objects import node_body
from stretto.inputs.objects.reading import ReadSettings, read_manifests

HORIZON_S: Final = 3600.0
"""Seconds that the recording of a dump covers: time for pending pods and for what-if options."""
_DUMP: Final = "dump both: kubectl get nodes,pods -A -o yaml"

_Body = dict[str, Any]
_Objects = dict[tuple[Kind, str, str], _Body]


class _SortedPods(NamedTuple):
    """The pods of a dump after a check of their nodes."""

    #: The kept pods.
    kept: list[_Body]
    #: Number of kept pods that are on a node.
    placed: int
    #: Notes about the other pods.
    notes: list[str]


def dump_timeline(path: Path, nodes: Sequence[FleetNode] = ()) -> Timeline:
    """The timeline of a dump.

    Args:
        path: a YAML or JSON file, a folder with sub-folders, or ``-`` for standard input.
        nodes: further nodes.

    Raises:
        InputError: a file cannot be used, or there are neither nodes nor pods.
    """
    skipped = SkippedObjects()
    objects, ignored, doubles = _read(path, skipped)
    for node in nodes:
        body: _Body = msgspec.json.decode(node_body(node))
        objects[NODE, "", body["metadata"]["name"]] = body
    names = {name for kind, _, name in objects if kind is NODE}
    pods = [body for (kind, _, _), body in objects.items() if kind is POD]
    if not names and not pods:
        raise InputError(str(path), None, "nodes and pods", _DUMP)
    found = _sorted_pods(pods, names)
    others = [(kind, body) for (kind, _, _), body in objects.items() if kind is not POD]
    if doubles:
        found.notes.append(f"{doubles} objects exist twice; the last one is used")
    if ignored:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(ignored.items()))
        found.notes.append(f"ignored: {kinds} (their pods are in the dump)")
    return Timeline(
        format="kubernetes",
        counts=TimelineCounts(
            nodes=len(names),
            pods=len(found.kept),
            gangs=sum(kind is POD_GROUP for kind, _ in others),
            placed=found.placed,
        ),
        objects=[*others, *((POD, body) for body in found.kept)],
        changes=(),
        seconds=HORIZON_S,
        started=_newest(objects),
        notes=(*found.notes, *skipped.lines()),
    )


def _read(path: Path, skipped: SkippedObjects) -> tuple[_Objects, dict[str, int], int]:
    """The objects by identity, the number of ignored objects by kind, and of repeated ones."""
    kept = set(recorded_kinds())
    objects: _Objects = {}
    ignored: dict[str, int] = {}
    doubles = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fields of newer versions do not affect placements
        found = read_manifests(path, ReadSettings(lenient=True), skipped)
    for each in found:
        if each.kind not in kept:
            ignored[each.kind.kind] = ignored.get(each.kind.kind, 0) + 1
            continue
        key = (each.kind, each.namespace, each.name)
        doubles += key in objects
        objects[key] = _completed(translated(each.kind, msgspec.json.decode(each.body)))
    return objects, ignored, doubles


def _sorted_pods(pods: Sequence[_Body], names: set[str]) -> _SortedPods:
    """The running and pending pods."""
    kept: list[_Body] = []
    over = lost = placed = 0
    for pod in pods:
        node = str((pod.get("spec") or {}).get("nodeName") or "")
        if (pod.get("status") or {}).get("phase") in ENDED:
            over += 1
        elif node and node not in names and names:
            lost += 1
        else:
            if node and not names:
                pod["spec"].pop("nodeName")
                lost += 1
            placed += node in names
            kept.append(pod)
    notes = [f"{over} finished pods are omitted"] * bool(over)
    if lost and names:
        notes.append(f"{lost} pods on nodes that are not in the dump are omitted")
    elif lost:
        notes.append(f"the dump has no nodes, so {lost} pods lose their place; {_DUMP}")
    return _SortedPods(kept, placed, notes)


def _newest(objects: _Objects) -> str:
    """The time of the newest creation in the dump, used for second 0; empty if there is none."""
    times = [
        stamp
        for body in objects.values()
        for stamp in (
            body["metadata"].get("creationTimestamp"),
            (body.get("status") or {}).get("startTime"),
        )
        if isinstance(stamp, str)
    ]
    return max(times, default="")


def _completed(body: _Body) -> _Body:
    """An object completed with the fields that an API server adds to a hand-written object."""
    meta = body["metadata"]
    if not meta.get("uid"):
        meta["uid"] = f"{body['kind'].lower()}-{meta.get('namespace', '')}-{meta['name']}"
    if body["kind"] == POD.kind:
        body.setdefault("spec", {}).setdefault("schedulerName", "default-scheduler")
    return body
