"""Traces of many files: the tables of Azure, Alibaba PAI and Google as they are published."""

import gzip
import json
import tarfile
from math import inf
from pathlib import Path
from typing import Any

import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.bounds import TraceBounds
from stretto.inputs.neutral.fleet import Fleet
from stretto.inputs.traces.formats import TRACES, load_trace
from stretto.inputs.traces.published.azure import load_vm_table
from stretto.inputs.traces.published.google import load_google
from stretto.inputs.traces.published.pai import load_pai
from stretto.inputs.traces.recognition import recognise

V1 = "vmA,sub,dep,300,900,90.5,10.1,80.2,Delay-insensitive,2,1.75"
V2 = "vmB,sub,dep,0,0,99,9,88,Interactive,>24,>64"
TASK = "j1,worker,2.0,Terminated,1030.0,1090.0,600.0,29.296875,50.0,T4"
JOB = "j1,id1,u1,Terminated,1000.0,1090.0"
MACHINE = "m1,T4,96,512,2"
INSTANCE = "j1,worker,n1,w1,id1,Terminated,1040.0,1090.0,m1"
RETRY = "j1,worker,n1,w9,id1,Failed,1100.0,1120.0,m1"
GROUP = "id1,u1,V100,g1,bert"
US = 10**6


def write(folder: Path, name: str, *rows: str, end: str = "\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(end.join(rows) + end, newline="")
    return path


def events(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    return write(folder, f"{name}-000.json", *(json.dumps(row) for row in rows))


def instance(second: float, kind: int | str, **more: Any) -> dict[str, Any]:
    row = {"collection_id": "7", "instance_index": 0, "collection_type": "0", "priority": 200}
    return {"time": str(int(second * US)), "type": kind, "machine_id": "5", **row, **more}


def machine(second: float, kind: int, cpus: float = 0.5) -> dict[str, Any]:
    size = {"cpus": cpus, "memory": 0.25}
    return {"time": int(second * US), "machine_id": "5", "type": kind, "capacity": size}


def refused(load: Any, path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value).removeprefix(f"{path.parent}/")


# ---------------------------------------------------------------- Azure


def test_a_vm_of_2017_is_a_pod_with_owner_class_and_run_time(tmp_path: Path) -> None:
    (pod,) = load_vm_table(write(tmp_path, "vmtable.csv", V1)).pods
    assert (pod.name, pod.cpu_milli, pod.memory_mib) == ("vm-vmA", 2000, 1792)
    assert (pod.arrival_s, pod.duration_s, pod.owner) == (300, 600, "dep")
    assert (pod.priority_class, pod.priority) == ("azure-delay-insensitive", 100)


def test_an_open_bucket_of_2019_is_the_next_size(tmp_path: Path) -> None:
    fleet = load_vm_table(write(tmp_path, "vmtable.csv", V2))
    assert (fleet.pods[0].cpu_milli, fleet.pods[0].memory_mib) == (32_000, 112 * 1024)
    assert fleet.notes == ("1 VMs have 32 cores, the size of the bucket >24",)


def test_a_packed_table_with_carriage_returns_is_read_in_order_of_arrival(tmp_path: Path) -> None:
    path = tmp_path / "trace_data/vmtable/vmtable.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(f"{V1}\r\n\r\n{V2}\r\n".encode()))
    write(tmp_path, "trace_data/vm_cpu_readings/vm_cpu_readings-file-1-of-195.csv", "0,x,1,2,3")
    assert recognise(tmp_path).format == "azure-vmtable"
    assert [pod.name for pod in load_vm_table(tmp_path).pods] == ["vm-vmB", "vm-vmA"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (V1.replace(",900,", ",200,"), "column vmdeleted: got '200', expected a time not before"),
        (V1.replace("Delay-insensitive", "batch"), "column vmcategory: got 'batch', expected one"),
        (V1.replace(",300,", ",,"), "column vmcreated: got nothing, expected a number"),
        (V1.replace(",2,1.75", ",many,1.75"), "column vmcorecount: got 'many', expected a number"),
        (V1.replace(",2,1.75", ",>,1.75"), "column vmcorecount: got '>', expected a number, or"),
        ("vmA,sub", "line 1: got '2 cells', expected 11 cells"),
        (f"{V1}\n{V1}", "line 2, column vmid: got 'vmA', expected a unique VM"),
        (f"{V1}\nvmB,s,d,-1,0,1,1,1,Unknown,2,4", "line 2, column vmcreated: got '-1'"),
    ],
)
def test_a_bad_vm_is_refused_with_its_place(tmp_path: Path, row: str, message: str) -> None:
    assert message in refused(load_vm_table, write(tmp_path, "vmtable.csv", row))


def test_only_the_window_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "vmtable.csv", V1, V2)
    assert [pod.name for pod in load_vm_table(path, TraceBounds(start_s=1)).pods] == ["vm-vmA"]


def test_another_table_of_azure_is_named_as_such(tmp_path: Path) -> None:
    found = recognise(write(tmp_path, "vmtable.csv", V1.replace(",300,", ",soon,")))
    assert (found.format, found.nearest) == ("", "azure-vmtable")
    assert found.differs == "its cell 4 (vmcreated) is 'soon'"


# ---------------------------------------------------------------- PAI


def pai(folder: Path, **tables: str) -> Fleet:
    found = {"task": TASK, **tables}
    names = {"machine": "machine_spec", "group": "group_tag_table"}
    for name, rows in found.items():
        write(folder, f"pai_{names.get(name, name + '_table')}.csv", *rows.split("\n"))
    return load_pai(folder)


def test_a_task_is_a_gang_of_its_instances(tmp_path: Path) -> None:
    pods = pai(tmp_path, job=JOB).pods
    assert [(pod.name, pod.group, pod.arrival_s) for pod in pods] == [
        ("j1-worker-0", "j1-worker", 1000),
        ("j1-worker-1", "j1-worker", 1000),
    ]
    assert (pods[0].cpu_milli, pods[0].memory_mib, pods[0].duration_s) == (6000, 30_000, 60)
    assert (pods[0].gpus, pods[0].gpu_milli, pods[0].gpu_models) == (1, 500, ("T4",))


def test_machines_are_nodes_and_instances_have_places(tmp_path: Path) -> None:
    fleet = pai(tmp_path, job=JOB, machine=MACHINE, instance=INSTANCE)
    (node,) = fleet.nodes
    assert (node.name, node.cpu_milli, node.memory_mib, node.gpus) == ("m1", 96_000, 524_288, 2)
    assert [(pod.node, pod.start_s, pod.duration_s) for pod in fleet.pods] == [
        ("m1", 1040, 50),
        ("", None, 60),
    ]


def test_a_retry_arrives_alone(tmp_path: Path) -> None:
    rows = f"{RETRY}\n{INSTANCE}\n{INSTANCE}"
    retry = pai(tmp_path, job=JOB, machine=MACHINE, instance=rows).pods[-1]
    assert (retry.arrival_s, retry.group, retry.duration_s) == (1100, "", 20)


def test_the_group_table_has_the_gpu_type_that_was_requested(tmp_path: Path) -> None:
    assert pai(tmp_path, job=JOB, group=GROUP).pods[0].gpu_models == ("V100",)
    assert pai(tmp_path, job=JOB, group="id2,u,T4,g,").pods[0].gpu_models == ()


def test_empty_cells_of_a_task_have_defaults(tmp_path: Path) -> None:
    (pod,) = pai(tmp_path, task="j1,t,,Running,1030.0,,,,,").pods
    assert (pod.cpu_milli, pod.memory_mib, pod.gpus, pod.duration_s) == (0, 0, 0, None)


def test_tasks_that_cannot_be_scheduled_are_counted(tmp_path: Path) -> None:
    rows = [TASK, TASK.replace("1030.0,1090.0", ",").replace("j1", "j2")]
    rows.append(TASK.replace("50.0", "1700.0").replace("j1", "j3"))
    fleet = pai(tmp_path, task="\n".join(rows))
    assert len(fleet.pods) == 2
    assert fleet.notes[0] == "1 tasks without a time are omitted"
    assert fleet.notes[1] == "1 tasks with more than 16 GPUs are omitted"


def test_the_archive_of_a_table_is_read_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, "pai_task_table.csv", TASK)
    with tarfile.open(tmp_path / "pai_task_table.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "pai_task_table.csv", "pai_task_table.csv")
    (tmp_path / "pai_task_table.csv").unlink()
    assert recognise(tmp_path).format == "pai-2020"
    assert len(load_pai(tmp_path).pods) == 2


def test_a_header_beside_a_table_names_its_columns(tmp_path: Path) -> None:
    write(tmp_path, "pai_machine_spec.header", "gpu_type,machine,cap_cpu,cap_mem,cap_gpu")
    assert pai(tmp_path, machine="T4,m1,96,512,2").nodes[0].name == "m1"


def test_a_header_in_a_table_names_its_columns(tmp_path: Path) -> None:
    header = "cap_cpu,cap_gpu,cap_mem,gpu_type,machine,extra"
    assert pai(tmp_path, machine=f"{header}\n96,2,512,T4,m1,x").nodes[0].memory_mib == 524_288


def test_a_folder_without_the_task_table_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "pai_machine_spec.csv", MACHINE)
    with pytest.raises(InputError, match=r"expected the task table \(pai_task_table\*\)"):
        load_pai(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (TASK.replace("600.0", "lots"), "column plan_cpu: got 'lots', expected a number"),
        (TASK.replace("2.0", "-3"), "column inst_num: got '-3', expected an integer"),
        (TASK.replace("j1", ""), "column job_name: got nothing, expected a name"),
        (TASK + ",x", "line 1: got '11 cells', expected 10 cells"),
    ],
)
def test_a_bad_task_is_refused_with_its_place(tmp_path: Path, row: str, message: str) -> None:
    assert message in refused(load_pai, write(tmp_path, "pai_task_table.csv", row))


# ---------------------------------------------------------------- Google


def google(folder: Path, *rows: dict[str, Any], bounds: TraceBounds = TraceBounds()) -> Fleet:  # noqa: B008
    events(folder, "instance_events", *rows)
    events(folder, "machine_events", machine(0, 1))
    return load_google(folder, bounds)


AMOUNTS = {"resource_request": {"cpus": 0.125, "memory": 0.0625}}


def test_a_run_of_an_instance_is_a_pod(tmp_path: Path) -> None:
    rows = (instance(9, 6), instance(2, 0, **AMOUNTS), instance(3, 3))
    (pod,) = google(tmp_path, *rows).pods
    assert (pod.arrival_s, pod.start_s, pod.duration_s, pod.node) == (2, 3, 6, "machine-5")
    assert (pod.cpu_milli, pod.memory_mib, pod.owner) == (8000, 16_384, "collection-7")
    assert (pod.priority_class, pod.priority) == ("google-production", 120)


def test_each_run_of_an_evicted_instance_is_a_pod(tmp_path: Path) -> None:
    rows = (instance(0, 0), instance(1, 3), instance(4, 4), instance(4, 0), instance(6, 3))
    pods = google(tmp_path, *rows).pods
    assert [(pod.name, pod.arrival_s, pod.start_s, pod.duration_s) for pod in pods] == [
        ("7-0", 0, 1, 3),
        ("7-0-run-1", 4, 6, None),
    ]


def test_an_instance_that_never_started_is_deleted_while_pending(tmp_path: Path) -> None:
    (pod,) = google(tmp_path, instance(1, 0), instance(8, 7)).pods
    assert (pod.arrival_s, pod.departure_s, pod.start_s) == (1, 8, None)


def test_events_outside_of_the_trace_are_its_start_and_end(tmp_path: Path) -> None:
    after = {**instance(0, 8), "time": str(2**63 - 1)}
    (pod,) = google(tmp_path, instance(0, 3), after).pods
    assert (pod.arrival_s, pod.start_s, pod.duration_s) == (0, 0, None)


def test_alloc_sets_are_named_as_unsupported(tmp_path: Path) -> None:
    inside = instance(1, 0, alloc_collection_id="9")
    fleet = google(tmp_path, inside, instance(1, 0, collection_id="9", collection_type=1))
    assert [pod.owner for pod in fleet.pods] == ["collection-7"]
    assert fleet.notes[0] == "1 alloc sets are not supported and omitted"
    assert fleet.notes[1] == "1 events of instances inside alloc sets count as plain pods"


def test_machine_events_add_change_and_remove_nodes(tmp_path: Path) -> None:
    events(tmp_path, "instance_events", instance(1, 0))
    rows = (machine(9, 2), machine(0, 1), machine(5, 3, cpus=0.25), machine(12, 1, cpus=0))
    events(tmp_path, "machine_events", *rows)
    fleet = load_google(tmp_path)
    assert [node.cpu_milli for node in fleet.nodes] == [32_000]
    changes = [(each.time_s, each.node and each.node.cpu_milli) for each in fleet.changes]
    assert changes == [(5, 16_000), (9, None), (12, 16_000)]


def test_the_state_of_the_machines_at_the_window_is_the_start(tmp_path: Path) -> None:
    events(tmp_path, "instance_events", instance(20, 0), instance(1, 0, instance_index=1))
    events(tmp_path, "machine_events", machine(0, 1), machine(5, 3, cpus=0.25))
    fleet = load_google(tmp_path, TraceBounds(start_s=10))
    assert ([node.cpu_milli for node in fleet.nodes], fleet.changes) == ([16_000], ())
    assert [pod.name for pod in fleet.pods] == ["7-1", "7-0"]


def test_the_unit_is_an_option(tmp_path: Path) -> None:
    events(tmp_path, "instance_events", instance(1, 0, **AMOUNTS))
    assert load_google(tmp_path, unit="16cpu-64gib").pods[0].cpu_milli == 2000


def test_tables_as_csv_are_read_from_shards_with_words(tmp_path: Path) -> None:
    header = "time,type,collection_id,instance_index,machine_id,resource_request_cpus,priority"
    write(tmp_path, "instance_events/part-000.csv", header, "0,SUBMIT,7,0,,0.5,")
    write(tmp_path, "instance_events/part-001.csv", header, "1000000,SCHEDULE,7,0,5,,")
    write(tmp_path, "collection_events-000.csv", "time,type,collection_id,priority", "0,0,7,112")
    (pod,) = load_google(tmp_path).pods
    assert (pod.cpu_milli, pod.arrival_s, pod.priority) == (32_000, 0, 100)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (instance(1, 11), "column type: got '11', expected an integer 0..10"),
        (instance(1, "START"), "column type: got 'START', expected an integer 0..10"),
        (instance(-1, 0), "column time: got '-1000000', expected an integer"),
        (instance(1, 0, resource_request={"cpus": "x"}), "resource_request.cpus: got 'x'"),
        (instance(1, 0, collection_id=None), "column collection_id: got nothing"),
    ],
)
def test_a_bad_event_is_refused_with_its_place(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    assert message in refused(load_google, events(tmp_path, "instance_events", row))


def test_a_line_that_is_no_object_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "instance_events-0.json", json.dumps(instance(1, 0)), "{broken")
    assert "line 2: got '{broken', expected a JSON object" in refused(load_google, path)


# ---------------------------------------------------------------- all


@pytest.mark.parametrize(
    ("folder", "name"),
    [("azure", "azure-vmtable"), ("pai", "pai-2020"), ("google", "google-2019")],
)
def test_the_samples_are_recognised_and_read(repo_root: Path, folder: str, name: str) -> None:
    path = repo_root / "examples" / "traces" / folder
    pods = load_trace(name, path).pods
    assert recognise(path).format == name
    assert len({pod.name for pod in pods}) == len(pods) > 20


def test_the_unit_is_a_key_of_a_scenario(tmp_path: Path) -> None:
    path = events(tmp_path, "instance_events", instance(1, 0, **AMOUNTS))
    (pod,) = load_trace("google-2019", path, unit="16cpu-64gib").pods
    assert pod.cpu_milli == 2000


@pytest.mark.parametrize("name", ["azure-vmtable", "pai-2020", "google-2019"])
def test_an_empty_trace_is_refused(tmp_path: Path, name: str) -> None:
    layout = TRACES.get(name).layouts[0]
    path = write(tmp_path, f"{layout.names[0].strip('*')}.csv", ",".join(layout.required))
    with pytest.raises(InputError, match="at least one"):
        load_trace(name, path)


def test_a_part_has_no_end_by_default() -> None:
    assert (TraceBounds().start_s, TraceBounds().end_s) == (-inf, inf)
