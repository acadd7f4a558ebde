"""Logs of batch jobs: SWF, Philly's job log, Helios, Tiresias and ElasticFlow."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.objects.objects import pod_object
from stretto.inputs.traces.batch.attempts import load_attempts, machine_nodes
from stretto.inputs.traces.batch.helios import helios_nodes, load_helios
from stretto.inputs.traces.batch.jobs import (
    BatchJob,
    BatchJobs,
    PodLimit,
    PodShare,
    label_text,
    pool_nodes,
    shares_of,
)
from stretto.inputs.traces.batch.pods import job_pods, pods_on
from stretto.inputs.traces.batch.swf import load_swf, swf_jobs, swf_nodes
from stretto.inputs.traces.batch.training import cluster_nodes, load_elasticflow, load_tiresias
from stretto.inputs.traces.formats import load_trace
from stretto.inputs.traces.philly import load_jobs

SWF = "1 5 2 100 4 -1 512 8 300 2048 1 7 3 -1 2 1 -1 -1"
HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration"
TIRESIAS = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"
ELASTIC = "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration"
CLUSTER = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node"
KEYS = BatchJobs(jobs="x")
TEN = "2025-01-06 10:00:00"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "list"
    path.write_text("\n".join(lines) + "\n")
    return path


def refused(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value).removeprefix(f"{path.parent}/")


def swf_line(**fields: object) -> str:
    names = (
        "id",
        "submit",
        "wait",
        "run",
        "used",
        "cpu",
        "mem",
        "size",
        "time",
        "wanted",
        "status",
    )
    cells = SWF.split()
    for name, value in fields.items():
        cells[names.index(name)] = str(value)
    return " ".join(cells)


def logged(folder: Path, **changes: object) -> Path:
    attempt = {"start_time": TEN, "end_time": "2025-01-06 10:01:00"}
    job = {
        "status": "Pass",
        "vc": "v",
        "jobid": "application_1_0001",
        "attempts": [{**attempt, "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}],
        "submitted_time": "2025-01-06 09:59:00",
        "user": "u",
    }
    path = folder / "cluster_job_log"
    path.write_bytes(msgspec.json.encode([{**job, **changes}]))
    return path


# ---------------------------------------------------------------- SWF


def test_a_line_of_a_log_is_a_job_with_an_estimate_of_its_own(tmp_path: Path) -> None:
    (job,) = swf_jobs(write(tmp_path, "; Queue: 2 long jobs", SWF))
    assert job == BatchJob(
        job_id="1", submit_s=0, duration_s=100, cpu_milli=8000, memory_mib=16, estimate_s=300,
        user="user-7", group="group-3", queue="long", partition="partition-1",
    )  # fmt: skip


def test_times_begin_with_the_first_submission(tmp_path: Path) -> None:
    jobs = swf_jobs(write(tmp_path, swf_line(id=1, submit=50), swf_line(id=2, submit=90.5)))
    assert [job.submit_s for job in jobs] == [0, 40.5]


@pytest.mark.parametrize(
    ("fields", "size", "memory"),
    [
        ({"size": -1}, 4000, 8),
        ({"size": 0}, 4000, 8),
        ({"wanted": -1}, 8000, 4),
        ({"wanted": -1, "mem": -1}, 8000, 0),
    ],
)
def test_unknown_requests_are_what_the_job_used(
    tmp_path: Path, fields: dict[str, object], size: int, memory: int
) -> None:
    (job,) = swf_jobs(write(tmp_path, swf_line(**fields)))
    assert (job.cpu_milli, job.memory_mib) == (size, memory)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"run": -1, "status": 5}, "cancelled before its start"),
        ({"run": 0, "status": 5}, "cancelled before its start"),
        ({"run": -1}, "no run time"),
        ({"size": -1, "used": -1}, "no number of processors"),
        ({"run": 0}, ""),
        ({"status": 5}, ""),
    ],
)
def test_a_job_that_cannot_run_is_omitted_with_the_reason(
    tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    (job,) = swf_jobs(write(tmp_path, swf_line(**fields)))
    assert (job.omitted, bool(job_pods([job], KEYS))) == (reason, not reason)


def test_the_parts_of_a_job_are_not_jobs(tmp_path: Path) -> None:
    lines = [swf_line(), swf_line(status=2, run=60), swf_line(status=3, run=40)]
    assert len(swf_jobs(write(tmp_path, *lines))) == 1


def test_a_job_without_requested_time_has_no_estimate(tmp_path: Path) -> None:
    assert swf_jobs(write(tmp_path, swf_line(time=-1)))[0].estimate_s is None


def test_a_log_may_be_packed_and_have_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(f";\r\n\r\n  {SWF}  \r\n".encode()))
    assert len(swf_jobs(path)) == 1


@pytest.mark.parametrize(
    ("comments", "cores"),
    [
        (["; MaxNodes: 4", "; MaxProcs: 16"], [4, 4, 4, 4]),
        ([";MaxNodes: 3", ";MaxProcs: 10 (without the login node)"], [3, 3, 3, 1]),
        (["; MaxProcs: 12"], [12]),
        (["; MaxNodes: 2"], [1, 1]),
        (["; MaxNodes: UNKNOWN", "; MaxProcs: 12000"], [10000, 2000]),
    ],
)
def test_the_header_describes_the_nodes(
    tmp_path: Path, comments: list[str], cores: list[int]
) -> None:
    nodes = swf_nodes(write(tmp_path, *comments, SWF))
    assert [node.cpu_milli // 1000 for node in nodes] == cores


def test_a_header_without_size_states_how_to_describe_the_nodes(tmp_path: Path) -> None:
    assert "expected the header comment MaxProcs or MaxNodes; describe the nodes" in refused(
        swf_nodes, write(tmp_path, "; MaxNodes: UNKNOWN", SWF)
    )


def test_odd_header_comments_are_skipped(tmp_path: Path) -> None:
    lines = ["; UnixStartTime: 5", "; Queue: none", "; Queue:", ";;;", "; Note: a: b", SWF]
    header = load_swf(write(tmp_path, *lines)).header
    assert (header.start_s, header.queues) == (5, {})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (swf_line(run="soon"), "line 1, field 4 (run time): got 'soon', expected a number -1.."),
        (swf_line(submit=-1), "line 1, field 2 (submit time): got '-1', expected a number 0.."),
        (swf_line(size="1e99"), "field 8 (requested processors): got '1e99'"),
        (swf_line(run="nan"), "field 4 (run time): got 'nan'"),
        ("1 2 3", "line 1: got '3 fields', expected 18 numbers separated by spaces"),
        ("; nothing", "expected at least one line with a job"),
        (f"{SWF}\n{SWF}", "line 2, field 1 (job number): got '1', expected a job number of its"),
    ],
)
def test_a_line_that_is_no_job_is_refused(tmp_path: Path, line: str, message: str) -> None:
    assert message in refused(swf_jobs, write(tmp_path, line))


# ---------------------------------------------------------------- Philly


def test_a_logged_job_has_the_gpus_and_the_seconds_of_its_attempts(tmp_path: Path) -> None:
    (job,) = load_attempts(logged(tmp_path))
    assert job == BatchJob(job_id="1-0001", submit_s=0, duration_s=60, gpus=2, user="u", queue="v")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attempts": []}, "no attempt"),
        ({"attempts": [{"start_time": TEN, "end_time": None}]}, "no attempt with start and end"),
        ({"attempts": [{"start_time": "None", "end_time": TEN}]}, "no attempt with start and end"),
        ({"attempts": [{"start_time": TEN, "end_time": TEN}]}, "no GPUs"),
        ({"submitted_time": "None"}, "no submission time"),
    ],
)
def test_a_logged_job_that_never_ran_is_omitted(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    assert load_attempts(logged(tmp_path, **changes))[0].omitted == reason


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"submitted_time": "soon"}, "[0].submitted_time: got 'soon', expected a date and time"),
        ({"attempts": 3}, "attempts: got 3, expected a list"),
        ({"jobid": ""}, "[0].jobid"),
    ],
)
def test_a_bad_value_of_a_job_log_is_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    assert message in refused(load_attempts, logged(tmp_path, **changes))


@pytest.mark.parametrize("text", ["[]", "{}", "[{", "[1]"])
def test_what_is_no_job_log_is_refused(tmp_path: Path, text: str) -> None:
    assert "list: " in refused(load_attempts, write(tmp_path, text))


def test_the_machine_list_describes_the_servers(tmp_path: Path) -> None:
    path = write(tmp_path, "machineId, number of GPUs, single GPU mem", "m1,8, 24GB", "m2,2, 12GB")
    assert [(node.name, node.gpus) for node in machine_nodes(path)] == [("m1", 8), ("m2", 2)]


def test_a_list_of_the_pcs_simulator_has_gpu_seconds(tmp_path: Path) -> None:
    header = "app_id,submit_time,service,num_jobs,sleep_time,model_name"
    (job,) = load_jobs(write(tmp_path, header, "3,6.5,480.123456789012,4,6.5,Vgg"))
    assert (job.job_id, job.submit_s, job.gpus) == ("3", 6.5, 4)
    assert (job.duration_s, job.model) == (pytest.approx(120.030864), "Vgg")


# ---------------------------------------------------------------- CSV lists


def test_a_helios_job_states_its_nodes(tmp_path: Path) -> None:
    row = f"7,uA,vcB,16,64,2,COMPLETED,{TEN},{TEN},{TEN},90"
    jobs = load_helios(write(tmp_path, HELIOS, row))
    pods = job_pods(jobs, KEYS)
    assert [(pod.gpus, pod.cpu_milli, pod.group) for pod in pods] == [(8, 32000, "job-7")] * 2
    assert (jobs[0].user, jobs[0].queue, jobs[0].duration_s) == ("uA", "vcB", 90)


def test_a_helios_job_without_gpus_is_a_job(tmp_path: Path) -> None:
    (job,) = load_helios(write(tmp_path, HELIOS, f"7,u,v,0,3,1,FAILED,{TEN},,,0"))
    assert [(pod.gpus, pod.cpu_milli) for pod in job_pods([job], KEYS)] == [(0, 3000)]


def test_the_last_day_of_a_helios_list_describes_the_nodes(tmp_path: Path) -> None:
    path = write(tmp_path, "date,vcA,vcB,total", "2020-04-01,8,8,16", "2020-04-02,8,12,20")
    assert [node.gpus for node in helios_nodes(path)] == [8, 8, 4]


def test_a_tiresias_list_is_read(tmp_path: Path) -> None:
    jobs = load_tiresias(write(tmp_path, TIRESIAS, "0,2,30,606,vgg,164,30", "1,0,31,1,vgg,9,0"))
    assert (jobs[0].gpus, jobs[0].duration_s, jobs[1].omitted) == (2, 164, "no GPUs")


def test_an_elasticflow_list_is_read(tmp_path: Path) -> None:
    (job,) = load_elasticflow(
        write(tmp_path, ELASTIC, "0,3715485,2011,cifar10,3719996,4096,8,56.5")
    )
    assert (job.submit_s, job.gpus, job.duration_s) == (0, 8, 56.5)


def test_a_cluster_file_describes_racks(tmp_path: Path) -> None:
    nodes = cluster_nodes(write(tmp_path, CLUSTER, "2,3,4,64,256"))
    assert (len(nodes), {node.zone for node in nodes}) == (6, {"rack0", "rack1"})
    assert (nodes[0].gpus, nodes[0].cpu_milli, nodes[0].memory_mib) == (4, 64000, 262144)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("helios", [HELIOS, f"7,u,v,1,1,1,X,{TEN},,,x"], "column duration: got 'x', expected"),
        (
            "helios",
            [HELIOS, "7,u,v,1,1,1,X,2020-13-01,,,1"],
            "column submit_time: got '2020-13-01'",
        ),
        (
            "helios",
            [HELIOS, f"7,u,v,1.5,1,1,X,{TEN},,,1"],
            "column gpu_num: got '1.5', expected an",
        ),
        ("helios", [HELIOS.replace("vc,", ""), ""], "the missing column vc"),
        ("helios", [HELIOS.replace("gpu_num", "gpus_num")], "is 'gpus_num' the column 'gpu_num'"),
        (
            "tiresias",
            [TIRESIAS, "0,2,-3,6,v,1,3"],
            "column submit_time: got '-3', expected a number",
        ),
        ("tiresias", [TIRESIAS, *["0,2,3,6,v,1,3"] * 2], "a unique name (line 2 has it already)"),
        ("tiresias", [TIRESIAS], "expected at least one job below the header"),
        ("elasticflow", [ELASTIC, "0,1,2,m,3,4,1,inf"], "column duration: got 'inf'"),
    ],
)
def test_a_bad_cell_is_refused(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    assert message in refused(lambda path: load_trace(name, path), write(tmp_path, *lines))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([CLUSTER], "at least one cluster"),
        ([CLUSTER, "1,1,99,1,1"], "column num_gpu_p_node: got '99', expected an integer 0..16"),
        ([CLUSTER, "9999,9999,1,1,1"], "at most 1,000,000 nodes"),
    ],
)
def test_a_bad_cluster_file_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    assert message in refused(cluster_nodes, write(tmp_path, *lines))


# ---------------------------------------------------------------- pods


@pytest.mark.parametrize(
    ("job", "limit", "shares"),
    [
        ({"gpus": 4}, (0, 8), [(0, 0, 4, 1)]),
        ({"gpus": 20, "cpu_milli": 40_000}, (0, 8), [(16_000, 0, 8, 2), (8_000, 0, 4, 1)]),
        ({"gpus": 16, "memory_mib": 100}, (0, 8), [(0, 50, 8, 2)]),
        ({"gpus": 3}, (0, 0), [(0, 0, 1, 3)]),
        ({"cpu_milli": 9_000}, (4_000, 0), [(4_000, 0, 0, 2), (1_000, 0, 0, 1)]),
        ({"cpu_milli": 2_000, "memory_mib": 8}, (0, 0), [(1_000, 4, 0, 2)]),
        ({"gpus": 5, "cpu_milli": 4_000, "nodes": 2}, (0, 8), [(2_000, 0, 3, 1), (2_000, 0, 2, 1)]),
    ],
)
def test_a_job_is_cut_by_the_largest_node(
    job: dict[str, int], limit: tuple[int, int], shares: list[tuple[int, ...]]
) -> None:
    found = shares_of(BatchJob(job_id="1", submit_s=0, **job), PodLimit(*limit))
    assert [tuple(share) for share in found] == shares


def test_nodes_of_the_fleet_cut_a_job_unless_the_keys_do() -> None:
    job = BatchJob(job_id="1", submit_s=0, cpu_milli=8_000)
    nodes = [FleetNode("a", 4_000, 1), FleetNode("b", 2_000, 1)]
    assert len(pods_on([job], KEYS, nodes)) == 2
    assert len(pods_on([job], msgspec.structs.replace(KEYS, pod_cpus=1), nodes)) == 8


@pytest.mark.parametrize(
    ("source", "queue"), [("none", None), ("user", "user-7"), ("queue", "long"), ("group", None)]
)
def test_a_value_of_a_job_names_its_queue_by_option(source: str, queue: str | None) -> None:
    job = BatchJob(job_id="1", submit_s=0, cpu_milli=1, user="user-7", queue="long")
    keys = msgspec.convert({"jobs": "x", "queues_by": source}, BatchJobs)
    body = pod_object(job_pods([job], keys)[0])["metadata"]
    assert body["annotations"].get("stretto.dev/queue") == queue
    assert body["labels"] == {"stretto.dev/user": "user-7", "stretto.dev/trace-queue": "long"}


@pytest.mark.parametrize(("text", "label"), [("a b/c", "a-b-c"), ("-x-", "x"), ("é", "")])
def test_a_label_has_allowed_characters_only(text: str, label: str) -> None:
    assert label_text(text) == label


def test_a_pool_has_nodes_of_one_size_and_a_rest() -> None:
    assert [node.gpus for node in pool_nodes(20, 8)] == [8, 8, 4]
    assert [node.gpus for node in pool_nodes(64)] == [64]


def test_equal_shares_keep_the_totals() -> None:
    job = BatchJob(job_id="1", submit_s=0, cpu_milli=7, memory_mib=5, gpus=3, nodes=4)
    shares = shares_of(job, PodLimit(0, 0))
    assert shares == [PodShare(2, 2, 1, 1), PodShare(2, 1, 1, 2), PodShare(1, 1, 0, 1)]


def test_a_job_of_too_many_pods_is_refused() -> None:
    job = BatchJob(job_id="1", submit_s=0, cpu_milli=10**9)
    with pytest.raises(InputError, match=r"job-1: got '1,000,000 pods', expected at most 100,000"):
        job_pods([job], KEYS)
