"""Many runs: what they say together, over processes, interrupted."""

import re
import signal
from multiprocessing import Pipe

import pytest

from stretto.base.errors import InputError, InvariantBrokenError, UnknownNameError
from stretto.framework.compiled.tables import DevicePick
from stretto.framework.compiled.ties import TieRule
from stretto.inputs.neutral.fleet import Fleet, FleetNode, FleetPod
from stretto.inputs.traces.openb.protocol import typical_pods
from stretto.sim.comparison import seeds as module
from stretto.sim.comparison.scene import PercentPoint, StudyRun, StudyRunSpec
from stretto.sim.comparison.seeds import compare, read_seeds, summarise
from stretto.sim.policies import check_policies, policy_profile

FLEET = Fleet(
    tuple(FleetNode(f"n{i}", 32_000, 65_536, 4, "T4") for i in range(5)),
    tuple(FleetPod(f"p{i}", 1000, 512, 1, 500 + 100 * (i % 6)) for i in range(30)),
)


def spec_of(policy: str, seed: int, arrive_pct: float | None = 130.0) -> StudyRunSpec:
    """A run on the tier that needs no compiling."""
    return StudyRunSpec(policy, seed, arrive_pct, tier="numpy")


def a_run(policy: str, seed: int, **alloc: float) -> StudyRun:
    points = tuple(PercentPoint(int(k[1:]), v, 100 - v, 50.0) for k, v in alloc.items())
    return StudyRun(policy, seed, 0, 0, 0, 0, 0, 0, 0.0, points)


def test_seeds_are_averaged_and_the_deviation_is_of_a_sample() -> None:
    [found] = summarise([a_run("fgd", 1, p1=10.0), a_run("fgd", 2, p1=14.0)])
    assert (found.gpu_alloc_pct_mean, found.frag_pct_of_cluster_mean) == (12.0, 88.0)
    assert found.gpu_alloc_pct_sd == pytest.approx(8**0.5, abs=1e-6)


def test_one_seed_has_no_deviation() -> None:
    assert summarise([a_run("fgd", 1, p1=10.0)])[0].gpu_alloc_pct_sd is None


def test_only_percents_that_all_seeds_have_reached_are_summarised() -> None:
    found = summarise([a_run("fgd", 1, p1=1.0, p2=2.0), a_run("fgd", 2, p1=3.0)])
    assert [each.arrive_pct for each in found] == [1]


def test_runs_keep_the_order_of_their_specs() -> None:
    specs = [spec_of(policy, seed) for policy in ("best-fit", "random") for seed in (2, 1)]
    done = compare(FLEET, specs, workers=1)
    assert [(run.policy, run.seed) for run in done.runs] == [(a.policy, a.seed) for a in specs]
    assert not done.partial


def test_other_processes_find_the_same() -> None:
    specs = [spec_of("fgd", 1), spec_of("random", 2)]
    assert compare(FLEET, specs, workers=2) == compare(FLEET, specs, workers=1)


@pytest.mark.slow
def test_an_error_in_another_process_comes_back_as_it_is() -> None:
    specs = [StudyRunSpec("fgd", 1, arrive_pct=-5.0)] * 2
    with pytest.raises(InputError, match=r"arrive: got -5\.0"):
        compare(FLEET, specs, workers=2)


def test_an_interruption_keeps_the_runs_that_are_done() -> None:
    def stop(run: StudyRun) -> None:
        if run.seed == 2:
            raise KeyboardInterrupt

    done = compare(FLEET, [spec_of("best-fit", seed) for seed in (1, 2, 3)], 1, stop)
    assert ([run.seed for run in done.runs], done.partial) == ([1, 2], True)


def test_every_run_reports_its_results() -> None:
    [run] = compare(FLEET, [spec_of("best-fit", 1, arrive_pct=None)]).runs
    assert run.placed + run.failed == 30
    assert run.gpu_milli_used + run.gpu_milli_failed == sum(p.gpu_milli for p in FLEET.pods)
    assert run.points[-1].gpu_alloc_pct == pytest.approx(100 * run.gpu_milli_used / 20_000)


def test_a_signal_waits_until_the_workers_are_made() -> None:
    made: list[bool] = []

    def make() -> None:
        with module._signals_deferred():
            signal.raise_signal(signal.SIGINT)
            made.append(True)

    with pytest.raises(KeyboardInterrupt):
        make()
    assert made == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_worker_exits_when_its_parent_closes_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("stretto.sim.comparison.seeds.os._exit", left.append)
    line, held = Pipe(duplex=False)
    held.close()
    module._exit_with_parent(line)
    assert left == [0]


def test_a_worker_that_was_not_started_is_a_bug() -> None:
    with pytest.raises(InvariantBrokenError, match="report this"):
        module._run(StudyRunSpec("fgd", 1))


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("42,43,42", (42, 43)), (" 1 ,5-7", (1, 5, 6, 7)), ("2..4", (2, 3, 4))],
)
def test_seeds_are_numbers_and_ranges(text: str, seeds: tuple[int, ...]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    "text", ["", "a", "1,,2", "-1", "3-1", "1-", "0-999999", "9" * 30, "1.5", "1..."]
)
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"--seeds: got {text!r}")):
        read_seeds(text, "--seeds")


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown policy 'bestfit'; did you mean best-fit"):
        check_policies(["fgd", "bestfit"])


def test_a_policy_is_listed_once() -> None:
    assert check_policies(["fgd", "random", "fgd"]) == ("fgd", "random")


def test_a_protocol_sets_ties_and_typical_pods_but_lets_random_draw() -> None:
    fgd = policy_profile("fgd", TieRule.NAME, typical_pods(FLEET.pods))
    assert (fgd.ties, fgd.learns, fgd.device_pick) == (TieRule.NAME, False, DevicePick.SCORED)
    assert policy_profile("random", TieRule.NAME).ties is TieRule.RANDOM
