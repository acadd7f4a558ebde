"""Measurements and writes of the agent: rates, pods, one write per change."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.agent.node import NodeAgent
from stretto.agent.report.writer import REFRESH_S, ReportWriter
from stretto.agent.topology.gpus import RecordedGpus
from stretto.agent.usage.cgroups import hidden_use, pod_cgroups, read_cgroup
from stretto.agent.usage.pressure import read_pressure
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.framework.profile.capacity.reclaim import ExtendedNames
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_node, make_pod
from tests.support.machines import ARM, INTEL, write_files, write_machine, write_use

UID = "0f3c8a52-1111-2222-3333-444455556666"


class Machine:
    """A machine whose counters a test moves, with a store."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, Rng(0))
        self.agent = NodeAgent(root, RecordedGpus(), self.clock)
        self.writer = ReportWriter(self.store, "n")
        write_machine(root, INTEL)

    def step(self, busy: int, pods: dict[str, tuple[int, int]], seconds: float = 10.0) -> bool:
        write_use(self.root, busy, pods)
        self.clock.advance(seconds)
        return self.agent.step(self.store, "n", self.writer)

    def status(self) -> Any:
        record = self.store.get(CUSTOM_NODE_RESOURCE, "", "n")
        assert record is not None
        return json.loads(record.body)["status"]


def test_the_first_reading_has_no_rates_and_is_not_reported(tmp_path: Path) -> None:
    assert not Machine(tmp_path).step(0, {})


def test_a_report_is_one_write_and_none_without_a_change(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    written = [machine.step(busy, {}) for busy in (0, 1000, 2000, 3000)]
    assert (written, machine.writer.writes) == ([False, True, False, False], 1)
    assert machine.status()["nodeMetricStatus"]["nodeMetric"]["genericUsage"]["cpu"] == "1"


def test_a_change_is_written_and_noise_is_not(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    written = [machine.step(busy, {}) for busy in (0, 1000, 2001, 4000)]
    assert written == [False, True, False, True]


def test_an_unchanged_report_is_refreshed_before_it_expires(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for number in range(3):
        machine.step(1000 * number, {})
    assert machine.step(3000 + int(100 * REFRESH_S), {}, seconds=REFRESH_S + 10)


def test_pods_are_grouped_by_their_level(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    pod = json.loads(make_pod("p", cpu="2"))
    pod["spec"]["nodeName"] = "n"
    reply = machine.store.create(POD, [json.dumps(pod).encode()])[0]
    assert reply.record is not None
    uid = reply.record.uid
    machine.step(0, {uid: (0, 1 << 30)})
    machine.step(1000, {uid: (5_000_000, 1 << 30)})
    group = machine.status()["nodeMetricStatus"]["groupMetric"][0]
    assert (group["QoSLevel"], group["podList"]) == ("shared_cores", ["default/p"])
    assert group["genericUsage"]["cpu"] == "500m"


def test_unused_cores_of_pods_are_published_for_best_effort(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.step(0, {})
    machine.step(1000, {})
    assert machine.status()["resources"]["allocatable"]["cpu"] == "15"


@pytest.mark.parametrize(
    ("controllers", "why"),
    [
        (None, "/sys/fs/cgroup is not a cgroup v2 tree"),
        ("hugetlb", "cgroup v2 has no controller cpu and no memory"),
        ("cpu io", "cgroup v2 has no controller memory"),
    ],
)
def test_a_report_explains_why_it_has_no_use_of_pods(
    tmp_path: Path, controllers: str | None, why: str
) -> None:
    machine = Machine(tmp_path)
    machine.step(0, {})
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").unlink()
    if controllers is not None:
        write_files(tmp_path, {"sys/fs/cgroup/cgroup.controllers": controllers})
    machine.clock.advance(10.0)
    status = machine.agent.measure()
    assert status is not None
    assert (hidden_use(tmp_path), status.conditions[-1].message.startswith(why)) == (why, True)


def test_a_machine_with_cgroup_v2_has_no_condition_about_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for busy in (0, 1000):
        machine.step(busy, {})
    assert [each["type"] for each in machine.status()["conditions"]] == ["AgentReady"]


def test_a_pod_is_found_by_its_uid_with_either_cgroup_driver(tmp_path: Path) -> None:
    write_use(tmp_path, 0, {UID: (1, 1)})
    other = UID.replace("0f", "1f")
    write_files(tmp_path, {f"sys/fs/cgroup/kubepods/burstable/pod{other}/memory.current": 5})
    assert set(pod_cgroups(tmp_path)) == {UID, other}


def test_a_cgroup_that_disappears_while_it_is_read_has_no_reading(tmp_path: Path) -> None:
    write_use(tmp_path, 0, {UID: (1, 1)})
    path = pod_cgroups(tmp_path)[UID]
    (path / "memory.current").unlink()
    assert read_cgroup(path) is None


def test_counters_that_go_back_count_from_zero(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.step(5000, {})
    machine.step(1000, {})
    assert machine.status()["nodeMetricStatus"]["nodeMetric"]["genericUsage"]["cpu"] == "1"


def test_a_counter_that_goes_back_reports_no_more_than_the_processors(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.step(10_000_000, {})
    machine.step(9_999_000, {})
    assert machine.status()["nodeMetricStatus"]["nodeMetric"]["genericUsage"]["cpu"] == "16"


def test_a_machine_that_does_not_list_its_processors_reports_its_use(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    rmtree(tmp_path / "sys/devices/system/cpu")
    machine.step(0, {})
    machine.step(1000, {})
    assert machine.status()["nodeMetricStatus"]["nodeMetric"]["genericUsage"]["cpu"] == "1"


def test_a_clock_that_does_not_advance_gives_no_report(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert not machine.step(0, {})
    assert not machine.step(1000, {}, seconds=0.0)
    assert machine.store.get(CUSTOM_NODE_RESOURCE, "", "n") is None
    assert machine.step(2000, {})


def test_a_machine_that_is_resized_reports_its_new_size(tmp_path: Path) -> None:
    machine, numas = Machine(tmp_path), list[int]()
    machine.step(0, {})
    for number, shape in enumerate((INTEL, ARM), 1):
        write_machine(tmp_path, shape)
        machine.step(1000 * number, {})
        numas.append(sum(len(each["children"]) for each in machine.status()["topologyZone"]))
    assert numas == [2, 4]


def test_a_pod_that_is_deleted_while_it_is_measured_stops_no_report(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.step(0, {UID: (0, 1 << 30)})
    machine.step(1000, {UID: (1_000_000, 1 << 30)})
    shutil.rmtree(pod_cgroups(tmp_path)[UID])
    assert machine.step(4000, {})
    assert "groupMetric" not in machine.status()["nodeMetricStatus"]


@pytest.mark.parametrize(
    ("text", "some"),
    [("some avg10=0 avg60=1.5 total=7", 1.5), ("full avg60=1\nsome avg60=x", None), ("", None)],
)
def test_pressure_is_read_where_the_kernel_has_it(
    tmp_path: Path, text: str, some: float | None
) -> None:
    write_files(tmp_path, {"cpu": text})
    assert read_pressure(tmp_path / "cpu") == some


def test_one_report_is_printed_as_json(tmp_path: Path) -> None:
    write_machine(tmp_path, INTEL)
    write_use(tmp_path, 0, {})
    words = ["agent", "--once", "-o", "json", "--root", str(tmp_path), "--node", "n"]
    found = json.loads(CliRunner().invoke(cli, words).stdout)
    assert (found["node"], len(found["status"]["topologyZone"])) == ("n", 2)


def test_a_root_without_a_kernel_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["agent", "--once", "--root", str(tmp_path)])
    assert (done.exit_code, "--root" in done.stderr) == (2, True)


def test_the_use_of_numa_nodes_pressure_and_io_are_published(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    meminfo = "sys/devices/system/node/node0/meminfo"
    total = (tmp_path / meminfo).read_text()
    disk = "8 0 sda 1 0 {} 0 1 0 0 0 0 0 0\n8 1 sda1 1 0 {} 0 1 0 0 0 0 0 0"
    for sectors in (0, 8192 * 10 * 2):
        used = "Node 0 MemUsed: 1050624 kB\nNode 0 FilePages: 4096 kB\nNode 0 Shmem: 2048 kB"
        files = {meminfo: f"{total}{used}", "proc/diskstats": disk}
        write_files(tmp_path, files | {"proc/diskstats": disk.format(sectors, sectors)})
        machine.step(sectors // 160, {})
    metric = machine.status()["nodeMetricStatus"]["nodeMetric"]
    assert metric["numaUsage"][0] == {
        "numaId": 0,
        "usage": {"cpu": "1020m", "memory": "1073741824"},
    }
    assert (metric["pressure"], metric["ioBytesPerSecond"]) == ({"cpu": "0%"}, "8388608")


def test_the_headroom_is_published_as_extended_resources_once_per_change(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.store.create(NODE, [make_node("n", cpu="16")])
    machine.writer = ReportWriter(machine.store, "n", ExtendedNames.BATCH)
    for busy in (0, 1000, 2000):
        machine.step(busy, {})
    record = machine.store.get(NODE, "", "n")
    assert record is not None
    allocatable = json.loads(record.body)["status"]["allocatable"]
    assert allocatable["kubernetes.io/batch-cpu"] == "15000"
    assert allocatable["cpu"] == "16"


def test_an_agent_with_the_default_estimator_imports_no_numpy() -> None:
    code = (
        "import sys, stretto.agent.node, stretto.agent.report.writer, stretto.stores.kube.store;"
        "from stretto.capacity.reclaim.estimators import estimator;"
        "from stretto.framework.profile.capacity.reclaim import ReclaimRules;"
        "estimator(ReclaimRules()); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
