"""Batch jobs through the real plane, against the Philly driver and by hand."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.traces.batch.jobs import BatchJob, BatchJobs, pool_nodes
from stretto.inputs.traces.philly import PhillyJob
from stretto.sim.traces.batch import BatchReport, BatchStudy, simulate_batch
from stretto.sim.traces.philly import simulate_philly

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

KEYS = BatchJobs(jobs="x")


def cpu_job(name: str, submit: float, cores: int, run: float, **more: object) -> BatchJob:
    fields = {"job_id": name, "submit_s": submit, "cpu_milli": 1000 * cores, "duration_s": run}
    return msgspec.convert({**fields, **more}, BatchJob)


def report_of(jobs: list[BatchJob], nodes: list[FleetNode], queue: str = "fifo") -> BatchReport:
    return simulate_batch(jobs, nodes, KEYS, BatchStudy(queue=queue)).report


NODES = [FleetNode(f"node-{n}", 4_000, 1 << 20) for n in range(2)]


@pytest.mark.parametrize("queue", ["fifo", "skip", "easy", "sjf", "conservative"])
def test_a_pool_of_gpus_gives_the_figures_of_the_philly_driver(queue: str) -> None:
    rng = Rng(7)
    drawn = [
        (n, rng.randint(0, 60), rng.choice([1, 2, 4, 8]), rng.randint(1, 60)) for n in range(80)
    ]
    ours = [BatchJob(job_id=f"{n}", submit_s=s, gpus=g, duration_s=d) for n, s, g, d in drawn]
    theirs = [PhillyJob(f"{n}", s, g, d) for n, s, g, d in drawn]
    found = simulate_batch(ours, pool_nodes(8), KEYS, BatchStudy(queue=queue)).report
    wanted = simulate_philly(theirs, 8, queue).report
    for name in ("started", "mean_wait_s", "p95_wait_s", "max_wait_s", "mean_jct_s", "makespan_s"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name))
    assert found.gpu_util == pytest.approx(wanted.gpu_util)


#: Job 2 needs both nodes and waits for job 1; job 3 fits beside job 1 and ends in time.
BY_HAND = [
    cpu_job("1", 0, 3, 100),
    cpu_job("2", 1, 8, 50, estimate_s=60),
    cpu_job("3", 2, 4, 20),
]


@pytest.mark.parametrize(("queue", "wait"), [("fifo", (99 + 148) / 3), ("easy", 99 / 3)])
def test_three_jobs_by_hand(queue: str, wait: float) -> None:
    assert report_of(BY_HAND, NODES, queue).mean_wait_s == pytest.approx(wait)


def test_a_late_estimate_keeps_a_job_from_passing() -> None:
    late = [*BY_HAND[:2], msgspec.structs.replace(BY_HAND[2], estimate_s=500)]
    assert report_of(late, NODES, "easy").mean_wait_s == pytest.approx((99 + 148) / 3)


def test_the_slowdown_of_a_short_job_is_bounded() -> None:
    jobs = [cpu_job("1", 0, 8, 30), cpu_job("2", 10, 8, 2)]
    assert report_of(jobs, NODES).mean_bounded_slowdown == pytest.approx((1 + 22 / 10) / 2)


def test_a_job_larger_than_the_cluster_is_skipped_and_blocks_nothing() -> None:
    report = report_of([cpu_job("1", 0, 9, 5), cpu_job("2", 1, 1, 5)], NODES)
    assert (report.started, report.skipped_too_big, report.max_wait_s) == (1, 1, 0)


def test_a_job_that_fits_the_sum_of_cores_and_no_nodes_is_skipped() -> None:
    job = cpu_job("1", 0, 6, 5, nodes=1)
    assert report_of([job], NODES).skipped_too_big == 1


def test_omitted_jobs_are_counted_by_reason() -> None:
    jobs = [cpu_job("1", 0, 1, 5), cpu_job("2", 0, 1, 5, omitted="no run time")]
    report = report_of(jobs, NODES)
    assert (report.started, report.omitted) == (1, {"no run time": 1})


def test_nothing_that_runs_is_a_report_without_waits() -> None:
    report = report_of([cpu_job("1", 0, 1, 5, omitted="no run time")], NODES)
    assert (report.started, report.mean_wait_s, report.cpu_util) == (0, None, None)


@pytest.mark.parametrize(
    ("source", "longest", "waits"), [("none", 10, {}), ("user", 20, {"a": 10, "b": 0})]
)
def test_users_take_turns_if_they_name_queues(
    source: str, longest: float, waits: dict[str, float]
) -> None:
    """Half the cores are for the first user's first job, and half for the second user's."""
    jobs = [cpu_job(f"{n}", 0, 4, 10, user="a") for n in range(3)]
    jobs.append(cpu_job("9", 0, 4, 20, user="b"))
    keys = msgspec.convert({"jobs": "x", "queues_by": source}, BatchJobs)
    report = simulate_batch(jobs, NODES, keys, BatchStudy()).report
    assert (report.max_wait_s, report.mean_wait_s_by_queue) == (longest, waits)


def test_a_job_of_high_priority_goes_first_and_evicts_no_job() -> None:
    jobs = [cpu_job("1", 0, 8, 10), cpu_job("2", 1, 8, 10), cpu_job("3", 2, 8, 10, priority=9)]
    assert report_of(jobs, NODES, "priority").max_wait_s == 19
    assert report_of(jobs, NODES, "priority").started == 3


def test_no_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="expected at least one node"):
        report_of(BY_HAND, [])


# ---------------------------------------------------------------- commands


@pytest.fixture
def samples(repo_root: Path) -> Path:
    return repo_root / "examples" / "traces"


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize(
    ("file", "more", "started"),
    [
        ("small.swf", (), 23),
        ("helios.csv", ("--nodes", "helios_gpus.csv"), 20),
        ("cluster_job_log", ("--nodes", "cluster_machine_list"), 14),
        ("tiresias.csv", ("--nodes", "cluster_spec.csv"), 16),
        ("elasticflow.csv", ("--nodes", "cluster_spec.csv"), 16),
        ("pcs.csv", ("--gpus", "16"), 16),
        ("helios.csv", ("--gpus", "16", "--gpus-per-node", "8", "--queues-by", "queue"), 20),
        ("small.swf", ("--nodes-like", "8cpu-32gib:4", "--queue", "easy"), 23),
        ("small.swf", ("--limit", "5"), 5),
        ("small.swf", ("--only", "queue=short,user=user-2"), 5),
        ("own.csv", ("--columns", "own.yaml", "--nodes-like", "32cpu-128gib-8gpu-V100:2"), 8),
    ],
)
def test_simulate_recognises_a_trace_and_runs_it(
    samples: Path, monkeypatch: pytest.MonkeyPatch, file: str, more: tuple[str, ...], started: int
) -> None:
    monkeypatch.chdir(samples)
    done = run("simulate", file, *more, "--json", "-", "-q")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["started"] == started


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tiresias.csv",), "add --nodes FILE, or --nodes-like 64cpu-256gib:200, or --gpus 64"),
        (("small.swf", "--pods", "small.swf"), "FILE or --pods, not both"),
        (("small.swf", "--gpus", "4", "--nodes-like", "1cpu-1gib:1"), "--nodes-like or --gpus"),
        (("own.csv", "--columns", "own.csv", "--gpus", "8"), "expected one mapping of values"),
        (("own.csv",), "or map its columns"),
        (("--format", "csv", "--pods", "own.csv", "--gpus", "8"), "give --columns MAP.yaml"),
        (("small.swf", "--only", "queue=shrot"), "did you mean 'short'?"),
        (("small.swf", "--only", "vc=1"), "by user, group, queue, partition"),
        (("pcs.csv", "--limit", "3"), "it applies to swf"),
        (("small.swf", "--lifetime", "min"), "it applies to azure-vm"),
        (("small.swf", "--queue", "easi"), "easy"),
    ],
)
def test_what_does_not_fit_a_trace_is_refused(
    samples: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(samples)
    done = run("simulate", *words)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_an_unknown_file_is_answered_with_the_nearest_format(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("job_id,user,vc,gpus,cpus,submit_time,duration\n")
    done = run("simulate", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert "nearest: helios (job log), but it lacks the columns gpu_num, cpu_num" in done.output


@pytest.mark.parametrize("fleet", ["swf: {nodes: small.swf}", "trace: small.swf"])
@pytest.mark.parametrize("work", ["swf: {jobs: small.swf}", "trace: small.swf"])
def test_a_scenario_reads_a_log_and_its_nodes(
    samples: Path, tmp_path: Path, fleet: str, work: str
) -> None:
    (tmp_path / "small.swf").write_bytes((samples / "small.swf").read_bytes())
    (tmp_path / "s.yaml").write_text(f"fleet: {{{fleet}}}\nworkloads: [{{{work}}}]\n")
    feed = materialise(load_scenario(tmp_path / "s.yaml"), Rng(0))
    assert (len(feed.nodes), feed.arrivals[0].time_s) == (8, 0)
    assert feed.arrivals[-1].duration_s == 1800


def test_a_workload_of_a_scenario_names_queues(samples: Path, tmp_path: Path) -> None:
    log = samples / "small.swf"
    keys = f"jobs: {log}, queues_by: queue, only: queue=short"
    text = f"fleet: {{trace: {log}}}\nworkloads: [{{swf: {{{keys}}}}}]\n"
    (tmp_path / "s.yaml").write_text(text)
    feed = materialise(load_scenario(tmp_path / "s.yaml"), Rng(0))
    pods = [each.body for each in feed.arrivals if each.duration_s is not None]
    assert all(b'"stretto.dev/queue":"short"' in body for body in pods)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fleet: {trace: x.csv}", "expected a trace in one of the formats openb, philly"),
        ("fleet: {trace: pcs.csv}", "fleet.trace: got 'philly', expected a format with node lists"),
        ("fleet: {trace: small.swf, swf: {nodes: a}}", "got 'trace and swf'"),
        ("fleet: {trace: 3}", "fleet.trace: got 3, expected a text"),
    ],
)
def test_a_trace_of_a_scenario_that_cannot_be_used_is_refused(
    samples: Path, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "x.csv").write_text("red,green,blue\n")
    for name in ("pcs.csv", "small.swf"):
        (tmp_path / name).write_bytes((samples / name).read_bytes())
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_scenario(tmp_path / "s.yaml")
    assert said in str(caught.value)


def test_compare_simulates_a_trace_for_each_order_and_policy(samples: Path) -> None:
    words = ("--queue", "fifo", "--queue", "easy", "--policy", "packing", "--json", "-", "-q")
    found = json.loads(run("compare", samples / "small.swf", *words).stdout)
    assert [side["side"] for side in found["sides"]] == ["fifo packing", "easy packing"]
    assert found["sides"][0]["mean_wait_s"] > found["sides"][1]["mean_wait_s"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("small.swf", "--seeds", "1"), "--seeds: got '1', expected no such option"),
        (("tiresias.csv",), "or --gpus 64"),
        (("small.swf", "--queue", "easi"), "easy"),
        (("own.csv",), "or map its columns"),
    ],
)
def test_what_does_not_fit_a_comparison_is_refused(
    samples: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(samples)
    done = run("compare", *words)
    assert (done.exit_code, said in done.output) == (2, True), done.output
