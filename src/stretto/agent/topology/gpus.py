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
"""Link of two GPUs that NVLink connects."""


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
        return GpuFacts(
            number,
            uuids[number],
            str(library.nvmlDeviceGetName(handle)),
            int(library.nvmlDeviceGetMemoryInfo(handle).total),
            self._numa(handle),
            tuple(self._links(number, handles, uuids)),
        )

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
        library = self._library
        for other, handle in handles.items():
            if other == number:
                continue
            if self._is_direct(handles[number], handle):
                yield GpuLink(uuids[other], NVLINK)
                continue
            try:
                level = int(library.nvmlDeviceGetTopologyCommonAncestor(handles[number], handle))
            except library.NVMLError:
                continue
            yield GpuLink(uuids[other], LINKS.get(level, "unknown"))

    def _is_direct(self, one: Any, other: Any) -> bool:
        """Return whether two GPUs are connected by NVLink, with or without a switch between them.

        The library returns the address of the switch as the other end of a link, so the ends of
        links do not show which GPUs are connected.
        """
        library = self._library
        try:
            found = library.nvmlDeviceGetP2PStatus(one, other, library.NVML_P2P_CAPS_INDEX_NVLINK)
        except library.NVMLError:
            return False
        return bool(found == library.NVML_P2P_STATUS_OK)


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
