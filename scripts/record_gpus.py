"""Record what the NVIDIA library answers to the agent, for tests on machines without a GPU.

    python scripts/record_gpus.py OUT.json

The recording contains each call of ``NvidiaGpus`` with its result or its error, and the files of
sysfs that give the NUMA nodes. ``tests/support/nvml.py`` replays it. Needs a GPU and nvidia-ml-py.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml

from stretto.agent.topology.gpus import NvidiaGpus

PCI = Path("/sys/bus/pci/devices")


class RecordingLibrary:
    """The NVIDIA library, whose calls are recorded."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._handles: dict[int, str] = {}
        #: Results by call, such as ``nvmlDeviceGetName(gpu0)``.
        self.calls: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """A function that records, or a constant or class of the library."""
        found = getattr(self._library, name)
        if not name.startswith("nvml"):
            return found
        return self._recorded(name, found)

    def _recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            words = ", ".join(self._word(each) for each in arguments)
            try:
                result = function(*arguments)
            except self._library.NVMLError as error:
                self.calls[f"{name}({words})"] = {"error": error.value, "message": str(error)}
                raise
            if name == "nvmlDeviceGetHandleByIndex":
                self._handles[_address(result)] = f"gpu{arguments[0]}"
            self.calls[f"{name}({words})"] = self._plain(result)
            return result

        return call

    def _word(self, argument: Any) -> str:
        return str(argument) if isinstance(argument, int) else self._handles[_address(argument)]

    def _plain(self, result: Any) -> Any:
        """A result as JSON: a number, a text, the name of a handle, or the fields of a struct."""
        if isinstance(result, int | str):
            return result
        if not hasattr(result, "_fields_"):
            return self._handles[_address(result)]
        fields = {name: getattr(result, name) for name, *_ in result._fields_}
        return {name: _text(each) for name, each in fields.items()}


def _address(handle: Any) -> int:
    """The address to which a handle points, because each call returns a new object for it."""
    return pynvml.addressof(handle.contents)  # type: ignore[no-any-return]


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def main() -> None:
    """Record and write."""
    pynvml.nvmlInit()
    library = RecordingLibrary(pynvml)
    gpus = NvidiaGpus(library, Path("/")).read()
    slots = sorted(PCI.glob("*/numa_node")) if PCI.is_dir() else []
    document = {
        "driver": pynvml.nvmlSystemGetDriverVersion(),
        "library": pynvml.nvmlSystemGetNVMLVersion(),
        "numa_nodes": {path.parent.name: int(path.read_text()) for path in slots},
        "calls": library.calls,
    }
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1) + "\n")
    print(gpus)


if __name__ == "__main__":
    main()
