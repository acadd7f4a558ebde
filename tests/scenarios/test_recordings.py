"""The commands of docs/recordings.md, as their user types them."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

MONDAY = Path(__file__).resolve().parents[2] / "examples" / "recordings" / "monday.jsonl.gz"


def stretto(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_a_replay_stands_beside_what_was_recorded(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert stretto("simulate", MONDAY, "--json", out, "-q").exit_code == 0
    found = msgspec.json.decode(out.read_bytes())
    assert found["schema"] == "stretto.simulate.recording/v1"
    assert found["placed"] == found["recorded"]["placed"] == 94
    assert found["recorded"]["mean_wait_s"] == pytest.approx(found["mean_wait_s"], abs=0.01)


def test_compare_sets_what_if_beside_what_was(tmp_path: Path) -> None:
    words = ("--drain", "topology.kubernetes.io/zone=zone-a@120", "--add-nodes", "worker-1:2")
    found = stretto(
        "compare", MONDAY, *words, "--out", tmp_path, "--json", tmp_path / "o.json", "-q"
    )
    assert found.exit_code == 0, found.output
    was, what_if = msgspec.json.decode((tmp_path / "o.json").read_bytes())["sides"]
    assert was["evicted"] == 0 < what_if["evicted"]
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "cpu.png",
        "memory.png",
        "pending.png",
    }


def test_what_is_left_without_a_node_is_exit_3_where_that_is_asked() -> None:
    assert stretto("simulate", MONDAY, "--require-all", "-q").exit_code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "openb"), "--format"),
        (("--gpus", "4"), "--gpus"),
        (("--drain", "zone"), "--drain"),
        (("--burst", "web/nobody:3"), "nobody"),
    ],
)
def test_words_that_do_not_fit_a_recording_are_refused_by_name(
    words: tuple[str, ...], said: str
) -> None:
    found = stretto("simulate", MONDAY, *words)
    assert found.exit_code in (2, 6)
    assert said in found.stderr


def test_a_durable_store_is_recorded_as_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    store, tape = f"sqlite:{tmp_path / 'run.db'}", tmp_path / "now.jsonl"
    quick = MONDAY.parents[1] / "quickstart.yaml"
    assert (
        stretto("run", quick, "--store", store, "--speed", "0", "--no-plots", "-q").exit_code == 0
    )
    assert stretto("record", "--store", store, "--out", tape, "-q").exit_code == 0
    assert stretto("simulate", tape, "-q").exit_code == 0


PLUGINS = MONDAY.parents[1] / "plugins"
OWN_RULES = ("--plugin", PLUGINS / "cheapest_tariff.py", "--plugin", PLUGINS / "rack_power.py")


@pytest.mark.parametrize("verb", ["simulate", "compare"])
def test_rules_of_a_file_decide_over_a_recording(verb: str) -> None:
    known = stretto(verb, MONDAY, *OWN_RULES, "--profile", PLUGINS / "profile.yaml")
    assert known.exit_code == 0, known.output
    unknown = stretto(verb, MONDAY, "--profile", PLUGINS / "profile.yaml", "-q")
    assert unknown.exit_code == 2
    assert "RackPower" in unknown.output


def test_a_rule_that_the_profile_does_not_name_takes_no_part() -> None:
    said = stretto("simulate", MONDAY, *OWN_RULES[:2])
    assert (said.exit_code, "CheapestTariff takes no part" in said.output) == (0, True)


def test_a_trace_has_no_profile_that_could_name_rules() -> None:
    words = ("--format", "openb", "--nodes", MONDAY, "--pods", MONDAY)
    assert stretto("compare", *words, *OWN_RULES).exit_code == 2
    assert stretto("simulate", *words, *OWN_RULES).exit_code == 2
