"""Topology that the agent reads: golden trees of several machine types."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.agent.files import format_list, read_list
from stretto.agent.report.zones import zone_tree
from stretto.agent.topology.gpus import GpuFacts, GpuLink, NvidiaGpus
from stretto.agent.topology.network import read_network
from stretto.agent.topology.processors import read_processors
from tests.support.machines import AMD, ARM, INTEL, MachineShape, write_files, write_machine
from tests.support.nvml import RecordedLibrary

PCI = "sys/bus/pci/devices"


@pytest.mark.parametrize(
    ("shape", "counts"), [(INTEL, (2, 2, 8, 16)), (AMD, (1, 4, 16, 32)), (ARM, (2, 4, 16, 16))]
)
def test_sockets_numa_nodes_cores_and_threads_are_read(
    tmp_path: Path, shape: MachineShape, counts: tuple[int, ...]
) -> None:
    write_machine(tmp_path, shape)
    found = read_processors(tmp_path)
    assert (len(found.sockets), len(found.numas), found.cores, len(found.cpus)) == counts
    assert found.memory == counts[1] * shape.memory_gib << 30


def test_distances_show_which_numa_nodes_share_a_socket(tmp_path: Path) -> None:
    write_machine(tmp_path, ARM)
    assert read_processors(tmp_path).numas[1].distances == {0: 12, 1: 10, 2: 32, 3: 32}


def test_offline_processors_are_left_out(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL)
    write_files(tmp_path, {"sys/devices/system/cpu/online": "0-7"})
    assert len(read_processors(tmp_path).cpus) == 8


def test_a_machine_without_numa_nodes_has_one(tmp_path: Path) -> None:
    files = {"sys/devices/system/cpu/cpu0/topology/core_id": 0, "proc/meminfo": "MemTotal: 4 kB"}
    write_files(tmp_path, files)
    found = read_processors(tmp_path)
    assert [(numa.number, numa.memory) for numa in found.numas] == [(0, 4096)]


def test_a_single_numa_node_has_all_memory_of_the_machine(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL._replace(sockets=1))
    write_files(tmp_path, {"proc/meminfo": "MemTotal: 4 kB"})
    assert read_processors(tmp_path).memory == 4096


def test_caches_are_zones_where_a_numa_node_has_several(tmp_path: Path) -> None:
    write_machine(tmp_path, AMD)
    numa = zone_tree(read_processors(tmp_path))[0].children[0]
    assert [zone.type for zone in numa.children] == ["L3CacheGroup"] * 2
    assert [zone.resources.capacity["cpu"] for zone in numa.children] == ["4", "4"]


def test_devices_are_children_of_their_numa_node(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL)
    write_files(
        tmp_path,
        {
            "sys/class/net/eth0/device/numa_node": 1,
            "sys/class/net/eth0/speed": 25000,
            "sys/class/net/eth0/operstate": "up",
            "sys/class/net/cni0/operstate": "up",
        },
    )
    gpus = [GpuFacts(0, "u0", "A100", 80 << 30, 1, links=(GpuLink("u1", "nvlink"),))]
    trees = zone_tree(read_processors(tmp_path), gpus, read_network(tmp_path))
    zones = trees[1].children[0].children
    assert [(zone.type, zone.name) for zone in zones] == [("GPU", "0"), ("NIC", "eth0")]
    assert zones[0].siblings[0].attributes[0].value == "nvlink"


def test_a_virtual_network_device_has_an_unknown_speed(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL)
    write_files(tmp_path, {"sys/class/net/eth0/speed": "-1", "sys/class/net/eth0/device/x": ""})
    (tree, *_) = zone_tree(read_processors(tmp_path), [], read_network(tmp_path))
    devices = [each for numa in tree.children for each in numa.children if each.type == "NIC"]
    assert ("speed_mbps", "unknown") in [(each.name, each.value) for each in devices[0].attributes]


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-2,5", (0, 1, 2, 5)), ("", ()), ("x,3-,4", (4,)), ("7", (7,))]
)
def test_a_list_of_processors_is_read_as_far_as_it_makes_sense(
    text: str, numbers: tuple[int, ...]
) -> None:
    assert read_list(text) == numbers


@given(numbers=st.sets(st.integers(0, 200)))
def test_a_list_is_read_as_it_was_formatted(numbers: set[int]) -> None:
    assert set(read_list(format_list(numbers))) == numbers


class NvmlError(Exception):
    """An error of the library."""


def library(**replaced: Any) -> Any:
    """An imitation of the NVIDIA library: two GPUs that NVLink connects."""

    return SimpleNamespace(
        **{
            "NVMLError": NvmlError,
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda number: number,
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
            "nvmlDeviceGetName": lambda _: "H100",
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=80 << 30),
            "nvmlDeviceGetPciInfo": lambda n: SimpleNamespace(busId=f"00000000:0{n}:00.0"),
            "nvmlDeviceGetTopologyCommonAncestor": lambda _one, _other: 20,
            "NVML_P2P_CAPS_INDEX_NVLINK": 2,
            "NVML_P2P_STATUS_OK": 0,
            "nvmlDeviceGetP2PStatus": lambda _one, _other, index: 0 if index == 2 else 5,
            **replaced,
        }
    )


def test_the_devices_of_a_machine_with_one_numa_node_are_on_it(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL._replace(sockets=1))
    (zone,) = zone_tree(read_processors(tmp_path), [GpuFacts(0, "u0", "H200", 141 << 30)])
    gpu = zone.children[0].children[0]
    assert "numa" not in {each.name for each in gpu.attributes}


def test_a_recorded_gpu_of_a_virtual_machine_has_its_facts(tmp_path: Path) -> None:
    recorded = RecordedLibrary(Path(__file__).parent / "recordings/h200.json")
    slots = {f"{PCI}/{at}/numa_node": numa for at, numa in recorded.numa_nodes.items()}
    write_files(tmp_path, slots)
    (gpu,) = NvidiaGpus(recorded, tmp_path).read()
    assert (gpu.model, gpu.memory >> 20, gpu.numa) == ("NVIDIA H200", 143_771, -1)
    assert gpu.uuid.startswith("GPU-")


def test_gpus_have_their_numa_node_and_links(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{PCI}/0000:01:00.0/numa_node": 1})
    first, second = NvidiaGpus(library(), tmp_path).read()
    assert (first.numa, second.numa) == (-1, 1)
    assert first.links == (GpuLink("GPU-1", "nvlink"),)


def test_a_gpu_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    def broken(number: int) -> int:
        if number == 0:
            raise NvmlError
        return number

    found = NvidiaGpus(library(nvmlDeviceGetHandleByIndex=broken), tmp_path).read()
    assert [gpu.number for gpu in found] == [1]


def test_gpus_without_a_direct_link_name_their_common_ancestor(tmp_path: Path) -> None:
    plain = library(nvmlDeviceGetP2PStatus=lambda *_: 5)
    assert NvidiaGpus(plain, tmp_path).read()[0].links == (GpuLink("GPU-1", "one bridge"),)
