"""The simulator itself: a clean product passes, a seed replays exactly, everything fires."""

import json
import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import msgspec
import pytest

from stretto.base.clock import WallClock
from stretto.base.errors import InputError
from stretto.cli.main import cli
from stretto.stores.faulty.odds import FaultOdds
from stretto_lab.chaos.draws.faults import Fault, FaultDraw
from stretto_lab.chaos.draws.preemption import CHANGES as PREEMPTION_CHANGES
from stretto_lab.chaos.report import Campaign, run_campaign
from stretto_lab.chaos.run import ChaosRun, SeedResult, run_seed
from stretto_lab.chaos.setup import CHANGES, FAILPOINTS, HIGHEST_ODDS, draw
from stretto_lab.chaos.trace import ChaosFailure, load_failure, save_failure

pytestmark = pytest.mark.chaos

STEPS = 80
BUNCH = 10
#: Seeds whose first steps meet every fault, as they are drawn today: they are tried first.
EVENTFUL = (92, 78, 70, 109, 31, 33, 52, 79, 36)
#: Without the compiled kernels, which take seconds to load in a child.
HASH = """
from msgspec.structs import replace
from stretto_lab.chaos.run import run_seed
from stretto_lab.chaos.setup import draw
print(run_seed(3, 60, setup=replace(draw(3), tier="numpy")).trace)
"""


@pytest.mark.parametrize("first", range(0, 40, BUNCH))
def test_no_law_is_broken(first: int) -> None:
    broken = {
        s: r.breaches for s in range(first, first + BUNCH) if (r := run_seed(s, STEPS)).breaches
    }
    assert broken == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(10_000, 11_000, 50))
def test_no_law_is_broken_by_longer_runs(first: int) -> None:
    broken = {s: r.breaches for s in range(first, first + 50) if (r := run_seed(s, 400)).breaches}
    assert broken == {}


def test_capacity_that_a_gang_releases_at_its_deadline_is_no_missed_cure() -> None:
    seed, crash = 32000237, "crash dispatcher.absorbed"
    faults = [Fault(108, "world", 0), Fault(249, crash, 0)]
    setup = msgspec.structs.replace(draw(seed), tier="numpy")
    result = run_seed(seed, 400, only=faults, setup=setup)
    assert result.breaches == ()
    assert result.checked["8 evictions that were gang evicted whole"] == 1


def test_competing_claims_for_capacity_that_a_gang_releases_are_not_refused_repeatedly() -> None:
    result = run_seed(9500018, 400, setup=msgspec.structs.replace(draw(9500018), tier="numpy"))
    assert result.breaches == ()
    assert result.checked["8 evictions that were gang evicted whole"] > 0


def test_claims_that_are_refused_without_a_release_are_a_breach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = count()
    monkeypatch.setattr(ChaosRun, "_refusals", lambda _: next(counts))
    assert run_seed(42, 1).breaches == ("law 3: claims are made and refused repeatedly",)


def test_a_row_that_is_reused_in_an_inbox_is_claimed_once() -> None:
    setup = msgspec.structs.replace(draw(9500147), tier="numpy")
    assert run_seed(9500147, 50, setup=setup).breaches == ()


def test_a_pod_nominated_in_the_same_step_keeps_its_place_on_an_over_committed_node() -> None:
    seed, crashes = 33000743, {0: "dispatcher.absorbed", 167: "dispatcher.handed-out"}
    changes = [(1, 2), (1, 3), (83, 0), (89, 0), (91, 2), (105, 0), (201, 0), (203, 0)]
    faults = [Fault(step, f"crash {name}", 0) for step, name in crashes.items()]
    faults += [Fault(step, "world", count) for step, count in changes]
    setup = msgspec.structs.replace(draw(seed), tier="numpy")
    assert run_seed(seed, 206, only=faults, setup=setup).breaches == ()


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    assert run_seed(seed, STEPS).trace == run_seed(seed, STEPS).trace


def test_another_hash_seed_gives_the_same_trace() -> None:
    def child(hash_seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", HASH],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert {child("1"), child("2")} == {run_seed(3, 60).trace + "\n"}  # and of the other tier


def test_different_seeds_give_different_traces() -> None:
    assert len({run_seed(seed, 20).trace for seed in range(5)}) == 5


def test_gangs_are_sent_without_waiting_where_the_store_has_no_transactions() -> None:
    result = run_seed(42, 1)  # binds of a gang that was claimed whole are refused
    assert (draw(42).lands_whole, result.breaches) == (False, ())
    laws = ("2 gangs are granted completely", "2 gangs are bound completely")
    assert [law in result.checked for law in laws] == [True, False]


def test_what_happened_is_all_that_it_takes_to_replay() -> None:
    result = run_seed(4, STEPS)
    assert run_seed(4, STEPS, only=result.happened).trace == result.trace


def test_a_masked_fault_leaves_the_decisions_of_others_alone() -> None:
    odds = {"a": 0.5, "b": 0.5}
    whole, part = FaultDraw(1, odds), FaultDraw(1, {"b": 0.5})
    for fate in (whole, part):
        for step in range(50):
            fate.begin(step)
            fate.fires("a")
            fate.fires("b")
    assert [f for f in whole.happened if f.kind == "b"] == part.happened


def test_every_kind_of_fault_is_met() -> None:
    rare = {"store_crash", "crash evictor.after-write", "crash hosts.answered"}
    missed = set(HIGHEST_ODDS) - rare
    for seed in (*EVENTFUL, *range(60), 103):
        missed -= set(run_seed(seed, 50).fired)
        if not missed:
            break
    assert missed == set()


def test_every_kind_of_change_is_drawn() -> None:
    weights = [draw(seed).weights for seed in range(60)]
    drawn = {kind for each in weights for kind, weight in each.items() if weight}
    assert drawn >= {*CHANGES, *PREEMPTION_CHANGES}


def test_every_fault_of_the_store_is_known() -> None:
    assert set(FaultOdds.__struct_fields__) <= set(HIGHEST_ODDS)


def test_every_failpoint_of_the_source_is_known(repo_root: Path) -> None:
    texts = [path.read_text() for path in (repo_root / "src" / "stretto").rglob("*.py")]
    found = lambda pattern: {name for text in texts for name in re.findall(pattern, text)}
    named = found(r'_failpoint\("([^"]+)"\)')
    moments = found(r'\.failpoint\(f"\{self\._settings\.name\}\.([a-z]+)"\)')
    reflectors = found(r'ReflectorSettings\([^()]*"([a-z]+)", failpoint\)')
    named |= {f"{name}.{moment}" for name in reflectors for moment in moments}
    assert named == set(FAILPOINTS)


# ------------------------------------------------------------ failures as files


def test_a_failure_is_kept_and_found_again(tmp_path: Path) -> None:
    failure = ChaosFailure(3, 7, ("law 1: x",), (Fault(2, "kill_plane", 0),))
    save_failure(failure, tmp_path / "f.json")
    assert load_failure(tmp_path / "f.json") == failure


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 3}', "[1]"])
def test_a_file_that_is_no_failure_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(InputError, match="a failure saved by stretto chaos"):
        load_failure(tmp_path / "f.json")


# ------------------------------------------------------------ the command


Capture = pytest.CaptureFixture[str]


def chaos(*words: str) -> int:
    """Exit code of the command, in this process."""
    return cli._run(["chaos", *words])


def test_the_command_reports_as_json(capsys: Capture) -> None:
    code = chaos("--seeds", "2", "--steps", "20", "--json", "-", "-q")
    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (report["schema"], report["seeds"], report["failing"]) == ("stretto.chaos/v1", 2, [])


def test_a_clean_campaign_ends_with_all_laws_hold(capsys: Capture) -> None:
    code = chaos("--seeds", "1", "--steps", "20", "-q")
    assert (code, capsys.readouterr().out.splitlines()[-1]) == (0, "all laws hold")


def test_ctrl_c_gives_a_partial_report() -> None:
    def interrupt(_: SeedResult) -> None:
        raise KeyboardInterrupt

    report = run_campaign(Campaign(0, 3, 10), WallClock(), interrupt)
    assert (report.seeds, report.as_json()["partial"]) == (1, True)


def test_claims_of_a_step_in_which_the_binder_dies_between_hosts_are_seen() -> None:
    assert run_seed(36000579, 170).breaches == ()


def test_a_pod_that_ended_before_the_binder_dies_between_hosts_uses_no_capacity() -> None:
    assert run_seed(42001503, 56).breaches == ()


@pytest.mark.parametrize(("seed", "steps"), [(39001023, 359), (39001731, 1)])
def test_claims_are_compared_with_the_state_in_which_they_are_made(seed: int, steps: int) -> None:
    setup = msgspec.structs.replace(draw(seed), tier="numpy")
    assert run_seed(seed, steps, setup=setup).breaches == ()


def test_a_fixed_failure_replays_clean(tmp_path: Path, capsys: Capture) -> None:
    save_failure(
        ChaosFailure(3, 7, ("law 1: x",), (Fault(2, "kill_plane", 0),)), tmp_path / "f.json"
    )
    assert chaos("--replay", str(tmp_path / "f.json")) == 0
    assert "laws hold" in capsys.readouterr().out


def test_a_missing_replay_file_is_a_usage_error() -> None:
    assert chaos("--replay", "nowhere.json") == 2
