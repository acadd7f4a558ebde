"""The simulated nodes of ``stretto up``: of one shape, or from a file."""

from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.api.edit.manifests import load_manifests
from stretto.api.edit.skipped import SkippedObjects
from stretto.api.wire.kinds import NODE
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.cli.bundled.examples import example_names, example_path
from stretto.inputs.neutral.shapes import nodes_of_shape
from stretto.inputs.objects.objects import node_body
from stretto.inputs.scenario.fleets import make_fleet
from stretto.inputs.scenario.read import load_scenario
from stretto.sim.history.file_kinds import FileKind, kind_of_file
from stretto.sim.states.source import state_of

OPTION: Final = "--like"
DEFAULT_COUNT: Final = 3
"""Default number of nodes of a shape."""
_EXPECTED: Final = "manifests of nodes, a scenario, a recording, a store or a run record"
_SPEC: Final = ("taints", "unschedulable")
"""Copied fields of the spec of a node."""
_FILES: Final = (".yaml", ".yml", ".json", ".jsonl", ".gz", ".db", ".sqlite")
"""Suffixes that identify a path."""
_STATES: Final = (FileKind.RECORDING, FileKind.STORE, FileKind.RUN)


def local_nodes(like: str, count: int | None) -> list[bytes]:
    """Return nodes as JSON.

    Args:
        like: a shape, a bundled example, or the path of a source whose nodes are copied: manifests,
            a scenario (also with a trace), a recording, a store or a run record.
        count: number of nodes; from a file, the first ones; ``None`` for all of a file.

    Raises:
        InputError: the text is neither a shape nor a file, or the file is invalid or has fewer
            nodes.
    """
    path = example_path(like) if like in example_names() else Path(like)
    if not path.is_file():
        if path.suffix in _FILES or "/" in like:
            raise InputError(OPTION, like, f"a file that exists, with {_EXPECTED}")
        if not like[:1].isdecimal():
            hint = f"examples: {', '.join(example_names())}"
            raise InputError(OPTION, like, "a shape such as 64cpu-256gib, an example, a file", hint)
        number = DEFAULT_COUNT if count is None else count
        return [node_body(each) for each in nodes_of_shape(like, number, OPTION)]
    found = _nodes_of(path)
    if count is not None and count > len(found):
        raise InputError("--nodes", count, f"at most {len(found):,}: {like} has no more nodes")
    return found[:count]


def _nodes_of(path: Path) -> list[bytes]:
    kind = kind_of_file(path)
    if kind is FileKind.MANIFESTS:
        found = load_manifests(path.read_bytes(), str(path), skipped=SkippedObjects())
        return [_fresh(each.body) for each in found if each.kind == NODE]
    if kind is FileKind.SCENARIO:
        scenario = load_scenario(path)
        objects = make_fleet(scenario, Rng(scenario.seed)).objects
        return [body for kind_of, body in objects if kind_of == NODE]
    if kind not in _STATES:
        stated = kind.value if kind is not None else "another kind of file"
        raise InputError(f"{OPTION} {path}", stated, _EXPECTED)
    spelled = f"sqlite:{path}" if kind is FileKind.STORE else str(path.absolute())
    records = state_of(spelled).records
    return [_fresh(each.body) for each in records if each.kind == NODE]


def _fresh(body: bytes) -> bytes:
    """Return a node without the fields that its server wrote.

    Identity, versions, managers, heartbeats.
    """
    node: dict[str, Any] = msgspec.json.decode(body)
    metadata, spec, status = (node.get(name, {}) for name in ("metadata", "spec", "status"))
    kept = {name: metadata[name] for name in ("name", "labels", "annotations") if name in metadata}
    amounts = {name: status[name] for name in ("capacity", "allocatable") if name in status}
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": kept,
            "spec": {name: spec[name] for name in _SPEC if name in spec},
            "status": amounts,
        }
    )
