"""A recording of the NVIDIA library, made by ``scripts/record_gpus.py`` on a machine with GPUs."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    """An error that the library returned."""


class RecordedLibrary:
    """The functions of the library with the results of a recording."""

    #: The class of its errors.
    NVMLError = NVMLError

    def __init__(self, path: Path) -> None:
        recording = json.loads(path.read_text())
        self._calls = recording["calls"]
        #: NUMA node of each address on the PCI bus.
        self.numa_nodes: dict[str, int] = recording["numa_nodes"]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A function that returns or raises what was recorded."""

        def call(*arguments: Any) -> Any:
            found = self._calls[f"{name}({', '.join(map(str, arguments))})"]
            if not isinstance(found, dict):
                return found
            if "error" in found:
                raise NVMLError(found["message"])
            return SimpleNamespace(**found)

        return call
