"""Traces whose format is not set in a scenario: ``trace: FILE`` becomes the key of its format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.inputs.traces.formats import TRACES, TraceFormat
from stretto.inputs.traces.recognition import recognised

KEY: Final = "trace"
"""The key of a fleet or workload for a file of any format."""


def with_formats(data: Mapping[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """A scenario with the format of each trace as its key.

    Args:
        data: the parsed scenario; unexpected values are not changed.
        folder: the folder of the scenario.
        where: name of the scenario in messages.

    Raises:
        InputError: a file has no known format, or another key of a format is set as well.
    """
    found = dict(data)
    if isinstance(found.get("fleet"), dict):
        found["fleet"] = _named(found["fleet"], folder, f"{where}: fleet", of_nodes=True)
    if isinstance(found.get("workloads"), list):
        found["workloads"] = [
            _named(each, folder, f"{where}: workloads[{index}]", of_nodes=False)
            for index, each in enumerate(found["workloads"])
        ]
    return found


def _named(part: Any, folder: Path, where: str, *, of_nodes: bool) -> Any:
    """A fleet or workload with the key of its format."""
    file = part.get(KEY) if isinstance(part, dict) else None
    if not isinstance(file, str):
        return part
    name = recognised(folder / file).format
    rest = {key: value for key, value in part.items() if key != KEY}
    if name in rest:
        raise InputError(where, f"{KEY} and {name}", f"{KEY} or {name}", "keep one of them")
    return {name: {_file_key(name, TRACES.get(name), where, of_nodes): file}, **rest}


def _file_key(name: str, found: TraceFormat, where: str, of_nodes: bool) -> str:
    """The key of a format for the file."""
    if not of_nodes:
        return found.file
    if found.node_keys is None:
        hint = "describe the nodes in another way, such as like: 64cpu-256gib:200"
        raise InputError(f"{where}.{KEY}", name, "a format with node lists", hint)
    return found.node_keys.__struct_encode_fields__[0]
