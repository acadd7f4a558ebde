"""The table of formats, and the traces that have no machines."""

import gzip
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from stretto.base import extensions
from stretto.base.errors import InputError, UnknownNameError
from stretto.base.rng import Rng
from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.objects.objects import pod_object
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.traces.azure_vm import Lifetime, load_vms, vm_pods
from stretto.inputs.traces.formats import GROUP, TRACES, TraceFormat, load_trace
from stretto.inputs.traces.philly import job_pods, load_jobs
from stretto.sim.traces.drivers import driver_of

JOBS = "job_id,submit_time_s,num_gpus,duration_s,model_name"
VMS = "vm_id,arrival_s,batch_id,vcpu,memory_gb,duration_min_s,duration_max_s,censored"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def refused(folder: Path, name: str, *lines: str) -> str:
    with pytest.raises(InputError) as caught:
        load_trace(name, write(folder, *lines))
    return str(caught.value).removeprefix(f"{folder}/")


def test_an_unknown_format_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_trace("azure-wm", Path("x"))
    assert str(caught.value) == "unknown trace format 'azure-wm'; did you mean azure-vm?"


class LineKeys(msgspec.Struct, frozen=True, kw_only=True):
    lines: str


def read_lines(path: Path, models: set[str] | None) -> tuple[FleetPod, ...]:
    return tuple(FleetPod(name, 100, 64) for name in path.read_text().split())


LINES = TraceFormat(LineKeys, "lines", read_lines, lambda pods, _: pods)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with the format ``lines``."""
    monkeypatch.setitem(sys.modules, "lines_package", SimpleNamespace(LINES=LINES))
    entries = [EntryPoint("lines", "lines_package:LINES", GROUP)]
    monkeypatch.setattr(extensions, "entry_points", lambda group: entries if group == GROUP else [])


def scenario_with(folder: Path, key: str) -> Path:
    (folder / "list.txt").write_text("a b")
    path = folder / "s.yaml"
    path.write_text(f"fleet: {{like: 4cpu-8gib:1}}\nworkloads: [{{{key}: {{lines: list.txt}}}}]")
    return path


@pytest.mark.usefixtures("installed")
def test_a_format_of_a_package_is_a_key_of_a_scenario(tmp_path: Path) -> None:
    feed = materialise(load_scenario(scenario_with(tmp_path, "lines")), Rng(0))
    assert [each.name for each in feed.arrivals] == ["a", "b"]


@pytest.mark.usefixtures("installed")
def test_a_typo_in_the_format_of_a_package_is_answered_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown key; did you mean 'lines'"):
        load_scenario(scenario_with(tmp_path, "lined"))


def test_every_format_has_a_driver() -> None:
    assert all(callable(driver_of(found)) for _, found in TRACES.items())


def test_a_format_with_node_lists_has_keys_for_them() -> None:
    assert all((f.nodes is None) == (f.node_keys is None) for _, f in TRACES.items())


def test_openb_pods_can_be_read_without_nodes(tmp_path: Path) -> None:
    path = write(tmp_path, "name,cpu_milli,memory_mib,num_gpu,gpu_milli", "p,1,1,0,0")
    assert load_trace("openb", path).pods[0].name == "p"


@pytest.mark.parametrize("name", ["philly", "azure-vm"])
def test_a_node_list_for_a_format_without_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"expected no node list: {name} has no nodes"):
        load_trace(name, Path("p"), Path("n"))


def test_a_job_is_a_gang_of_one_pod_per_gpu(tmp_path: Path) -> None:
    jobs = load_jobs(write(tmp_path, JOBS, "7,6.0,2,16602.5,Vgg"))
    pods = job_pods(jobs)
    assert [pod.name for pod in pods] == ["job-7-0", "job-7-1"]
    assert {(pod.group, pod.arrival_s, pod.duration_s) for pod in pods} == {("job-7", 6.0, 16602.5)}


def test_a_job_of_one_gpu_is_alone(tmp_path: Path) -> None:
    assert job_pods(load_jobs(write(tmp_path, JOBS, "7,6.0,1,1.0,")))[0].group == ""


def test_a_job_may_state_an_estimate_of_its_run_time(tmp_path: Path) -> None:
    lines = "7,6.0,1,10.0,,35.5", "8,6.0,1,10.0,,"
    jobs = load_jobs(write(tmp_path, f"{JOBS},estimate_s", *lines))
    assert [pod.estimate_s for pod in job_pods(jobs)] == [35.5, None]
    notes = [pod_object(pod, "ns")["metadata"]["annotations"] for pod in job_pods(jobs)]
    assert [each.get("stretto.dev/estimate") for each in notes] == ["35.5", None]


@pytest.mark.parametrize("written", ["-1", "soon", "1e3", "10000000001"])
def test_an_absurd_estimate_is_refused(tmp_path: Path, written: str) -> None:
    line = f"7,6.0,1,1.0,,{written}"
    assert refused(tmp_path, "philly", f"{JOBS},estimate_s", line) == (
        f"list.csv, line 2, column estimate_s: got {written!r}, "
        "expected empty, or a number 0..10000000000; fix the row or drop it"
    )


def test_a_job_larger_than_a_pod_consists_of_whole_pods_and_a_rest(tmp_path: Path) -> None:
    jobs = load_jobs(write(tmp_path, JOBS, "7,6.0,10,1.0,", "8,6.0,4,1.0,"))
    pods = job_pods(jobs, 4)
    assert [(pod.name, pod.gpus, pod.group) for pod in pods] == [
        ("job-7-0", 4, "job-7"),
        ("job-7-1", 4, "job-7"),
        ("job-7-2", 2, "job-7"),
        ("job-8-0", 4, ""),
    ]


@pytest.mark.parametrize("gpus", ["0", "-1", "1.5", "10001"])
def test_a_job_of_an_absurd_size_is_refused(tmp_path: Path, gpus: str) -> None:
    assert refused(tmp_path, "philly", JOBS, f"7,6.0,{gpus},1.0,") == (
        f"list.csv, line 2, column num_gpus: got {gpus!r}, "
        "expected an integer 1..10000; fix the row or drop it"
    )


@pytest.mark.parametrize("time", ["-1.0", "nan", "inf", "1e3", "", "99999999999.0"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, time: str) -> None:
    assert refused(tmp_path, "philly", JOBS, f"7,{time},1,1.0,") == (
        f"list.csv, line 2, column submit_time_s: got {time!r}, "
        "expected a number 0..10000000000; fix the row or drop it"
    )


def test_a_list_without_jobs_is_refused(tmp_path: Path) -> None:
    assert "expected at least one job" in refused(tmp_path, "philly", JOBS)


def test_a_vm_list_is_read_packed_or_not(tmp_path: Path) -> None:
    path = tmp_path / "list.csv.gz"
    path.write_bytes(gzip.compress(f"{VMS}\n3,300,1,2,0.75,600,1200,1\n".encode()))
    (vm,) = load_vms(path)
    assert (vm.arrival_s, vm.vcpu, vm.memory_mib, vm.censored) == (300, 2, 768, True)


@pytest.mark.parametrize(("end", "expected"), [("min", 600), ("mid", 900), ("max", 1200)])
def test_the_end_of_the_lifetime_bin_is_the_readers_choice(
    tmp_path: Path, end: str, expected: float
) -> None:
    vms = load_vms(write(tmp_path, VMS, "3,300,1,2,0.75,600,1200,0"))
    assert vm_pods(vms, Lifetime(end))[0].duration_s == expected


def test_a_batch_of_several_vms_can_be_a_gang(tmp_path: Path) -> None:
    rows = ["1,0,5,1,1,0,0,0", "2,0,5,1,1,0,0,0", "3,0,6,1,1,0,0,0"]
    vms = load_vms(write(tmp_path, VMS, *rows))
    assert [pod.group for pod in vm_pods(vms, gangs=True)] == ["batch-5", "batch-5", ""]
    assert {pod.group for pod in vm_pods(vms)} == {""}


def test_a_lifetime_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "azure-vm", VMS, "3,300,1,2,0.75,600,300,0") == (
        "list.csv, line 2, column duration_max_s: got '300', "
        "expected a time not before duration_min_s 600; fix the row or drop it"
    )


def test_a_vm_name_used_twice_is_refused(tmp_path: Path) -> None:
    row = "3,300,1,2,0.75,600,900,0"
    assert "line 3, column vm_id: got '3'" in refused(tmp_path, "azure-vm", VMS, row, row)


@pytest.mark.parametrize(
    ("name", "file", "pods"),
    [
        ("philly", "philly_vc/philly_vc_0e4a51.csv", 4976),
        ("philly", "philly_vc/philly_vc_ee9e8c.csv", 27859),
        ("azure-vm", "azure_vm_2017/azure_vm_2017_24h.csv.gz", 70239),
    ],
)
def test_the_published_lists_are_read(shared_data: Path, name: str, file: str, pods: int) -> None:
    assert len(load_trace(name, shared_data / file).pods) == pods
