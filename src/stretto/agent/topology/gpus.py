"""GPUs, read from the NVIDIA library or from a recording of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from stretto.agent.files import read_number

LINKS: Final = {
    10: "same board",
    20: "one bridge",
    30: "several bridges",
    40: "host bridge",
    50: "NUMA node",
    60: "system",
}
"""Common ancestor of two GPUs on the PCI bus, by its number in the NVIDIA library."""
NVLINK: Final = "nvlink"
"""Link of two GPUs that are directly connected."""


class GpuLink(msgspec.Struct, frozen=True):
    """Link from a GPU to another one."""

    #: UUID of the other GPU.
    peer: str
    #: ``nvlink``, or the common ancestor on the PCI bus.
    kind: str


class GpuFacts(msgspec.Struct, frozen=True):
    """A GPU."""

    #: Its number on the machine.
    number: int
    #: Its identity, which does not change at a restart.
    uuid: str
    #: Its model.
    model: str
    #: Its memory in bytes.
    memory: int
    #: NUMA node of its slot; -1 if it is unknown.
    numa: int = -1
    #: Memory in use in bytes.
    memory_used: int = 0
    #: Percent of time in which the GPU computed.
    utilisation: int = 0
    #: Links to other GPUs.
    links: tuple[GpuLink, ...] = ()


class GpuReader(Protocol):
    """Reader of the GPUs of a machine."""

    def read(self) -> tuple[GpuFacts, ...]:
        """The GPUs, by number."""
        ...


class RecordedGpus(msgspec.Struct, frozen=True):
    """GPUs of a recording; a machine without GPUs has an empty one."""

    #: The GPUs.
    gpus: tuple[GpuFacts, ...] = ()

    def read(self) -> tuple[GpuFacts, ...]:
        """The GPUs of the recording."""
        return self.gpus


class NvidiaGpus:
    """GPUs through the NVIDIA library."""

    def __init__(self, library: Any, root: Path) -> None:
        """Use an initialised library; NUMA nodes are read from sysfs under ``root``."""
        self._library = library
        self._root = root

    def read(self) -> tuple[GpuFacts, ...]:
        """Read the GPUs; GPUs that the library cannot read are skipped."""
        library = self._library
        handles: dict[int, Any] = {}
        for number in range(library.nvmlDeviceGetCount()):
            try:
                handles[number] = library.nvmlDeviceGetHandleByIndex(number)
            except library.NVMLError:
                continue
        uuids = {number: str(library.nvmlDeviceGetUUID(each)) for number, each in handles.items()}
        return tuple(self._facts(number, handles, uuids) for number in handles)

    def _facts(self, number: int, handles: dict[int, Any], uuids: dict[int, str]) -> GpuFacts:
        library, handle = self._library, handles[number]
        memory = library.nvmlDeviceGetMemoryInfo(handle)
        return GpuFacts(
            number,
            uuids[number],
            str(library.nvmlDeviceGetName(handle)),
            int(memory.total),
            self._numa(handle),
            int(memory.used),
            self._utilisation(handle),
            tuple(self._links(number, handles, uuids)),
        )

    def _utilisation(self, handle: Any) -> int:
        """Percent; 0 if the device does not report it, as in MIG mode."""
        try:
            return int(self._library.nvmlDeviceGetUtilizationRates(handle).gpu)
        except self._library.NVMLError:
            return 0

    def _numa(self, handle: Any) -> int:
        """NUMA node of the slot, by the address on the PCI bus."""
        address = str(self._library.nvmlDeviceGetPciInfo(handle).busId).lower()
        domain, _, rest = address.partition(":")
        path = self._root / "sys/bus/pci/devices" / f"{domain[-4:]}:{rest}" / "numa_node"
        found = read_number(path, -1)
        return -1 if found is None else found

    def _links(
        self, number: int, handles: dict[int, Any], uuids: dict[int, str]
    ) -> Iterator[GpuLink]:
        """Links from a GPU to the others."""
        library, direct = self._library, set(self._peers(handles[number]))
        for other, handle in handles.items():
            if other == number:
                continue
            try:
                level = int(library.nvmlDeviceGetTopologyCommonAncestor(handles[number], handle))
                address = str(library.nvmlDeviceGetPciInfo(handle).busId)
            except library.NVMLError:
                continue
            kind = NVLINK if address in direct else LINKS.get(level, "unknown")
            yield GpuLink(uuids[other], kind)

    def _peers(self, handle: Any) -> Iterator[str]:
        """PCI addresses of the GPUs at the other ends of active NVLinks."""
        library = self._library
        for link in range(int(getattr(library, "NVML_NVLINK_MAX_LINKS", 18))):
            try:
                if library.nvmlDeviceGetNvLinkState(handle, link):
                    yield str(library.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId)
            except library.NVMLError:
                return


def gpu_reader(root: Path) -> GpuReader:
    """The NVIDIA library if it and a driver are installed, otherwise a reader without GPUs."""
    try:
        import pynvml
    except ImportError:
        return RecordedGpus()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return RecordedGpus()
    return NvidiaGpus(pynvml, root)
