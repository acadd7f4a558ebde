"""Whatever a log of batch jobs holds, it is answered; what is written is read back."""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.errors import StrettoError
from stretto.inputs.traces.batch.attempts import load_attempts
from stretto.inputs.traces.batch.columns import load_mapped
from stretto.inputs.traces.batch.helios import load_helios
from stretto.inputs.traces.batch.jobs import BatchJob, PodLimit, shares_of
from stretto.inputs.traces.batch.maps import ColumnMap, ColumnSpec, MappedJobs
from stretto.inputs.traces.batch.swf import swf_jobs, swf_nodes
from stretto.inputs.traces.batch.training import cluster_nodes, load_elasticflow, load_tiresias

MAP = "submit: s\nduration: d\ncpu: c\nuser: u\n"
CSV = "s,d,c,u\n2025-01-06 10:00:00,1:00,2,eva\n5,60,1,kim\n"


def read_csv(path: Path, columns: str = MAP) -> object:
    other = path.with_name("map.yaml")
    other.write_text(columns)
    return load_mapped(path, MappedJobs(jobs=str(path), columns=str(other)))


READERS: dict[str, Callable[[Path], object]] = {
    "swf": swf_jobs,
    "swf nodes": swf_nodes,
    "philly-log": load_attempts,
    "helios": load_helios,
    "tiresias": load_tiresias,
    "elasticflow": load_elasticflow,
    "cluster": cluster_nodes,
    "csv": read_csv,
}
SWF = "; MaxNodes: 4\n; MaxProcs: 16\n1 5 2 100 4 -1 512 8 300 2048 1 7 3 -1 2 1 -1 -1\n"
JOB = {
    "jobid": "a",
    "vc": "v",
    "user": "u",
    "status": "Pass",
    "submitted_time": "2025-01-06 09:59:00",
    "attempts": [
        {
            "start_time": "2025-01-06 10:00:00",
            "end_time": "2025-01-06 10:01:00",
            "detail": [{"ip": "m", "gpus": ["g"]}],
        }
    ],
}
GOOD = {
    "swf": SWF,
    "swf nodes": SWF,
    "philly-log": json.dumps([JOB]),
    "helios": (
        "job_id,user,vc,gpu_num,cpu_num,node_num,submit_time,duration\n"
        "7,u,v,1,1,1,2025-01-06 10:00:00,5\n"
    ),
    "tiresias": (
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,6,v,1,3\n"
    ),
    "elasticflow": (
        "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration\n0,1,2,m,3,4,1,5\n"
    ),
    "cluster": (
        "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,2,4,8,16\n"
    ),
    "csv": CSV,
}


def read(name: str, data: bytes) -> object:
    """Return the result of a reader for some bytes; a refusal is a result too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        with suppress(StrettoError):
            return READERS[name](path)
    return None


@pytest.mark.parametrize("name", READERS)
def test_the_examples_are_read(name: str) -> None:
    assert read(name, GOOD[name].encode())


@pytest.mark.parametrize("name", READERS)
@given(
    at=st.integers(0, 300),
    cut=st.integers(0, 40),
    piece=st.one_of(
        st.binary(max_size=8),
        st.sampled_from(
            [b",", b"\n", b'"', b"-1", b"1e9", b"9" * 30, b"\0", b"\xff", b"[", b"{", b"null", b";"]
        ),
    ),
)
def test_mangled_files_are_answered(name: str, at: int, cut: int, piece: bytes) -> None:
    good = GOOD[name].encode()
    read(name, good[:at] + piece + good[at + cut :])


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([2**31, 2**63, -(2**63), 1.5, -0.5, 1e300]),
    st.sampled_from(
        ["", "s", "d", "c", "u", "a", "pod", "UTC", "%Y", "%", "h", "GiB", ";", "nowhere"]
    ),
    st.lists(st.sampled_from(["a", ""]), max_size=2),
)
SPEC = st.fixed_dictionaries({}, optional=dict.fromkeys(ColumnSpec.__struct_encode_fields__, ODD))
MAPS = st.fixed_dictionaries(
    {"submit": st.one_of(st.just("s"), ODD, SPEC)},
    optional=dict.fromkeys(ColumnMap.__struct_encode_fields__[1:], st.one_of(ODD, SPEC)),
)


@given(MAPS)
def test_maps_with_odd_values_are_answered(columns: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(CSV)
        with suppress(StrettoError):
            read_csv(path, yaml.safe_dump(columns))


JOBS = st.lists(
    st.builds(
        BatchJob,
        job_id=st.integers(0, 10**9).map(str),
        submit_s=st.integers(0, 10**8).map(float),
        duration_s=st.integers(0, 10**7).map(float),
        cpu_milli=st.integers(1, 10**6).map(lambda cores: 1000 * cores),
        estimate_s=st.one_of(st.none(), st.integers(1, 10**7).map(float)),
        user=st.integers(0, 99).map(lambda n: f"user-{n}"),
        queue=st.integers(1, 9).map(lambda n: f"queue-{n}"),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda job: job.job_id,
)


def line_of(job: BatchJob) -> str:
    """A job as a line of an SWF log."""
    cores, estimate = job.cpu_milli // 1000, -1 if job.estimate_s is None else job.estimate_s
    user, queue = job.user.removeprefix("user-"), job.queue.removeprefix("queue-")
    cells = (
        job.job_id, job.submit_s, -1, job.duration_s, cores, -1, -1, cores, estimate, -1, 1,
        user, -1, -1, queue, -1, -1, -1,
    )  # fmt: skip
    return " ".join(map(str, cells))


@given(JOBS)
def test_a_written_log_is_read_back(jobs: list[BatchJob]) -> None:
    first = min(job.submit_s for job in jobs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_text("\n".join(map(line_of, jobs)))
        found = swf_jobs(path)
    wanted = [{"submit_s": job.submit_s - first, "duration_s": job.duration_s} for job in jobs]
    assert [{"submit_s": j.submit_s, "duration_s": j.duration_s} for j in found] == wanted
    for name in ("job_id", "cpu_milli", "estimate_s", "user", "queue"):
        assert [getattr(j, name) for j in found] == [getattr(j, name) for j in jobs]


@given(
    st.integers(0, 5000), st.integers(0, 90_000), st.integers(0, 9000), st.integers(0, 40),
    st.tuples(st.integers(0, 9000), st.integers(0, 16)),
)  # fmt: skip
def test_the_pods_of_a_job_have_its_amounts(
    gpus: int, cpu: int, memory: int, nodes: int, limit: tuple[int, int]
) -> None:
    job = BatchJob(job_id="1", submit_s=0, gpus=gpus, cpu_milli=cpu, memory_mib=memory, nodes=nodes)
    shares = shares_of(job, PodLimit(*limit))
    count = sum(share.pods for share in shares)
    assert sum(share.gpus * share.pods for share in shares) == gpus
    assert cpu - count < sum(share.cpu_milli * share.pods for share in shares) <= cpu or cpu == 0
    assert memory - count <= sum(share.memory_mib * share.pods for share in shares) <= memory
    if not nodes and gpus:
        assert max(share.gpus for share in shares) <= max(limit[1], 1)
