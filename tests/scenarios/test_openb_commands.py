"""``stretto compare`` and ``stretto simulate`` as they are typed: output, files and exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli
from stretto.sim.engine import WorkRunner

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"node-{i},32000,65536,4,{'G2' if i % 2 else 'T4'}\n" for i in range(6)
)
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
) + "".join(
    f"pod-{i},2000,1024,1,{500 if i % 3 else 1000},,{'LS' if i % 2 else 'BE'},"
    f"Running,{i},{i + 20},\n"
    for i in range(60)
)
JOBS = "job_id,submit_time_s,num_gpus,duration_s,model_name\n0,0.0,4,10.0,a\n1,1.5,8,3.2,b\n"
VMS = (
    "vm_id,arrival_s,batch_id,vcpu,memory_gb,duration_min_s,duration_max_s,censored\n"
    "0,0,0,2,4.0,300,600,0\n1,0,0,4,8.0,0,300,0\n2,300,1,8,16.0,600,900,1\n"
)
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in a folder that has the traces."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("n.csv", NODES), ("p.csv", PODS), ("j.csv", JOBS), ("v.csv", VMS)):
        Path(name).write_text(text)
    return lambda *words: CliRunner().invoke(cli, words)


def written(name: str = "out.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(name).read_text())
    return found


COMPARE = ("compare", "--format", "openb", "--nodes", "n.csv", "--pods", "p.csv", "--workers", "1")
SIMULATE = ("simulate", "--format", "openb", "--nodes", "n.csv", "--pods", "p.csv")


def test_compare_writes_runs_and_a_summary(run: Run) -> None:
    names = ("--policy", "fgd", "--policy", "best-fit")
    result = run(*COMPARE, *names, "--seeds", "42,43", "--arrive", "130", "--json", "out.json")
    assert result.exit_code == 0
    found = written()
    keys = {"arrive_pct", "gpu_alloc_pct", "frag_pct_of_cluster", "frag_pct_of_idle"}
    assert [(r["policy"], r["seed"]) for r in found["runs"]] == [
        (policy, seed) for policy in ("fgd", "best-fit") for seed in (42, 43)
    ]
    assert all(set(point) == keys for r in found["runs"] for point in r["points"])
    assert {"policy", "arrive_pct", "gpu_alloc_pct_mean", "gpu_alloc_pct_sd"} < set(
        found["summary"][0]
    )


def test_compare_in_the_order_of_the_file_shows_its_policies(run: Run) -> None:
    how = ("--order", "file", "--arrive", "file", "--seeds", "0", "--policy", "best-fit")
    assert run(*COMPARE, *how, "--json", "out.json", "-q").exit_code == 0
    [found] = written()["runs"]
    assert found["placed"] + found["failed"] == 60
    assert found["gpu_milli_used"] + found["gpu_milli_failed"] == 20 * 1000 + 40 * 500
    assert found["cpu_milli_used"] == 2000 * found["placed"]
    assert found["nodes_used"] == 6
    assert written()["summary"][0]["gpu_alloc_pct_sd"] is None


def test_compare_prints_a_table_and_plots_the_published_results_too(run: Run) -> None:
    Path("published.csv").write_text(
        "workload,policy,metric,arrive_pct,n_seeds,mean,sd,min,max\n"
        "default,FGD,alloc_pct,100,10,95.2,0.1,95,96\n"
    )
    more = ("--policy", "fgd", "--seed", "1", "--published", "published.csv", "--out", "plots")
    result = run(*COMPARE, *more)
    assert result.exit_code == 0
    assert "published %" in result.output
    assert "95.20" in result.output
    assert sorted(p.name for p in Path("plots").iterdir()) == [
        "allocation.png",
        "allocation.svg",
        "fragmentation.png",
        "fragmentation.svg",
    ]


def test_all_policies_and_published_seeds_are_the_default(run: Run) -> None:
    Path("n.csv").write_text(NODES.splitlines(keepends=True)[0] + "a,32000,65536,4,T4\n")
    assert run(*COMPARE, "--json", "out.json", "-q").exit_code == 0
    assert len(written()["runs"]) == 60


REPLAY = ("--node-filter", "model=G2,gpu=4", "--node-limit", "1", "--policy", "best-fit")


def test_simulate_replays_openb_in_its_own_time(run: Run) -> None:
    result = run(*SIMULATE, *REPLAY, "--on-unschedulable", "reject", "--json", "-", "-q")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["placed"] + found["rejected"] == 60
    assert sum(found["rejected_by_qos"].values()) == found["rejected"] > 0
    assert 0 < found["peak_gpu_milli"] <= 4000
    assert found["gpu_milli_seconds"] > 0


def test_simulate_runs_philly_jobs_on_a_pool(run: Run) -> None:
    words = ("simulate", "--format", "philly", "--pods", "j.csv", "--gpus", "8", "--queue", "fifo")
    result = run(*words, "--json", "-", "-q")
    found = json.loads(result.stdout)
    del found["schema"]
    assert found == {
        "started": 2,
        "skipped_too_big": 0,
        "mean_wait_s": 4.25,
        "p95_wait_s": 0.0,
        "max_wait_s": 8.5,
        "mean_jct_s": 10.85,
        "makespan_s": 13.2,
        "gpu_util": pytest.approx((40 + 25.6) / (8 * 13.2)),
    }


def test_simulate_packs_azure_vms(run: Run) -> None:
    words = ("simulate", "--format", "azure-vm", "--pods", "v.csv", "--nodes-like", "8cpu-32gib:2")
    found = json.loads(run(*words, "--lifetime", "max", "--gangs", "--json", "-", "-q").stdout)
    del found["schema"]
    assert found == {
        "placed": 3,
        "rejected": 0,
        "mean_wait_s": 0.0,
        "peak_cpu_pct": 62.5,
        "peak_memory_pct": 31.25,
        "mean_cpu_pct": pytest.approx(100 * (2 * 600 + 4 * 300 + 8 * 900) / (16 * 1200)),
    }


def test_simulate_prints_a_table_and_draws_use_over_time(run: Run) -> None:
    result = run(*SIMULATE, *REPLAY, "--out", "plots")
    assert result.exit_code == 0
    assert "peak GPU milli" in result.output
    assert Path("plots/usage.png").read_bytes().startswith(b"\x89PNG")


def test_require_all_ends_with_3_after_the_report(run: Run) -> None:
    how = ("--on-unschedulable", "reject", "--require-all", "--json", "out.json")
    assert run(*SIMULATE, *REPLAY, *how).exit_code == 3
    assert written()["rejected"] > 0


def test_an_interrupted_simulation_keeps_a_partial_report(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = WorkRunner._step

    def stop(engine: WorkRunner, tick: int) -> None:
        if tick > 30:
            raise KeyboardInterrupt
        step(engine, tick)

    monkeypatch.setattr(WorkRunner, "_step", stop)
    assert run(*SIMULATE, *REPLAY, "--json", "out.json").exit_code == 130
    assert written()["partial"] is True


def test_an_interrupted_comparison_keeps_the_runs_that_are_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stretto.sim.comparison.scene import OpenbStudy, StudyRunSpec
    from stretto.sim.comparison.scene import StudyRun as Done

    make = OpenbStudy.run

    def stop(study: OpenbStudy, requested: StudyRunSpec) -> Done:
        if requested.seed == 3:
            raise KeyboardInterrupt
        return make(study, requested)

    monkeypatch.setattr(OpenbStudy, "run", stop)
    words = ("--policy", "fgd", "--seeds", "1-4", "--json", "out.json", "--out", "plots")
    assert run(*COMPARE, *words).exit_code == 130
    found = written()
    assert ([r["seed"] for r in found["runs"]], found["partial"]) == ([1, 2], True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*COMPARE, "--policy", "fdg"), "unknown policy 'fdg'; did you mean fgd?"),
        ((*COMPARE, "--seeds", "x"), "--seeds: got 'x'"),
        ((*COMPARE, "--arrive", "lots"), "--arrive: got 'lots'"),
        ((*COMPARE, "--arrive", "nan"), "--arrive: got 'nan'"),
        ((*COMPARE, "--json", "no/where.json"), "--json: got 'no'"),
        ((*COMPARE, "--pods", "n.csv"), "n.csv, line 1"),
        ((*SIMULATE, "--pods", "gone.csv"), "gone.csv"),
        ((*SIMULATE, "--gpus", "4"), "it applies to philly"),
        ((*SIMULATE, "--nodes-like", "8cpu-8gib:1"), "not both"),
        ((*SIMULATE, "--node-filter", "model=G9"), "some node matches"),
        ((*SIMULATE, "--policy", "bestfit"), "did you mean best-fit?"),
        (("simulate", "--format", "openb", "--pods", "p.csv"), "add --nodes FILE"),
        (("simulate", "--format", "philly", "--pods", "j.csv", "--gpus", "0"), "'--gpus': 0"),
        (("simulate", "--format", "philly", "--pods", "j.csv", "--queue", "lifo"), "fifo"),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_states_the_fix(
    run: Run, words: tuple[str, ...], said: str
) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("verb", ["compare", "simulate"])
def test_help_shows_an_example(run: Run, verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"stretto {verb} --format openb" in result.output
