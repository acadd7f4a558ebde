"""The table of traces of many files; ``formats`` creates a trace format from each entry."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.inputs.neutral.bounds import EVERYTHING, TraceBounds
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.neutral.layouts import FileLayout
from stretto.inputs.traces.published import azure, google, pai


class PublishedSource(msgspec.Struct, frozen=True, kw_only=True):
    """One trace of many files."""

    #: Keys of a workload in a scenario.
    keys: type[msgspec.Struct]
    #: The key with the path of the download.
    file: str
    #: (file or folder, kept part, keys) to nodes, pods and changes of nodes.
    fleet: Callable[[Path, TraceBounds, Any], Fleet]
    #: Reads the machines; ``None`` for a trace without machines.
    nodes: Callable[[Path], tuple[FleetNode, ...]] | None = None
    #: Keys of a fleet in a scenario; required together with ``nodes``.
    node_keys: type[msgspec.Struct] | None = None
    #: Layouts of its tables.
    layouts: tuple[FileLayout, ...]

    def read(self, path: Path, keys: Any) -> tuple[FleetPod, ...]:
        """All pods of a file or folder.

        Raises:
            InputError: there is no pod, or a row cannot be used.
        """
        pods = self.fleet(path, EVERYTHING, keys).pods
        if not pods:
            raise InputError(str(path), None, "at least one row", "fetch the file again")
        return pods


SOURCES: Final[Mapping[str, PublishedSource]] = {
    "azure-vmtable": PublishedSource(
        keys=azure.AzureTable,
        file="vms",
        fleet=lambda path, bounds, _: azure.load_vm_table(path, bounds),
        layouts=(azure.VM_TABLE,),
    ),
    "pai-2020": PublishedSource(
        keys=pai.PaiTables,
        file="tables",
        fleet=lambda path, bounds, _: pai.load_pai(path, bounds),
        nodes=pai.read_machines,
        node_keys=pai.PaiMachines,
        layouts=pai.LAYOUTS,
    ),
    "google-2019": PublishedSource(
        keys=google.GoogleTables,
        file="events",
        fleet=lambda path, bounds, keys: google.load_google(path, bounds, keys.unit),
        layouts=google.LAYOUTS,
    ),
}
"""Every trace of many files, by the name of its format."""
