"""The commands of docs/guides/researcher/recordings.md, as their user types them."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli
from stretto.explain.records.results import ResultRecords
from stretto.sim.occupancy import OccupancySampler

MONDAY = Path(__file__).resolve().parents[2] / "examples" / "recordings" / "monday.jsonl.gz"


def stretto(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_a_replay_is_compared_with_the_recording(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert stretto("simulate", MONDAY, "--json", out, "-q").exit_code == 0
    found = msgspec.json.decode(out.read_bytes())
    assert found["schema"] == "stretto.simulate.recording/v1"
    assert found["placed"] == found["recorded"]["placed"] == 94
    for name in ("pods", "left_waiting", "pending"):
        assert found[name] == found["recorded"][name]
    assert found["recorded"]["mean_wait_s"] == pytest.approx(found["mean_wait_s"], abs=0.01)


def test_the_curves_of_a_what_if_are_kept_with_its_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path))
    words = ("--drain", "topology.kubernetes.io/zone=zone-a@120", "-q")
    assert stretto("compare", MONDAY, *words).exit_code == 0
    (name,) = ResultRecords().names()
    pending = ResultRecords().read(name).plots[-1]
    assert [line.label for line in pending.lines] == ["replayed", "what if"]
    assert pending.texts.moments == ((120.0, "drain zone=zone-a"),)


def test_compare_shows_the_what_if_and_the_recorded_run(tmp_path: Path) -> None:
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
    assert "drain zone=zone-a" in (tmp_path / "pending.svg").read_text()


def test_pods_without_a_node_are_exit_3_if_requested() -> None:
    assert stretto("simulate", MONDAY, "--require-all", "-q").exit_code == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "openb"), "--format"),
        (("--gpus", "4"), "--gpus"),
        (("--drain", "zone"), "--drain"),
        (("--burst", "web/absent:3"), "absent"),
    ],
)
def test_words_that_do_not_fit_a_recording_are_refused_by_name(
    words: tuple[str, ...], said: str
) -> None:
    found = stretto("simulate", MONDAY, *words)
    assert found.exit_code in (2, 6)
    assert said in found.stderr


ZONE_A = "topology.kubernetes.io/zone=zone-a"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--add-nodes", "wroker-1:2"), "--add-nodes: node was not found: 'wroker-1'; did you", 6),
        (
            ("--burst", "web/apy-0:2"),
            "--burst: pod was not found: 'web/apy-0'; did you mean web",
            6,
        ),
        (("--drain", ZONE_A.replace("zone=", "zome=")), f"did you mean {ZONE_A}", 6),
        (("--drain", f"{ZONE_A}@9000"), "--drain: got '@9000', expected a second of the", 2),
        (("--burst", "web/api-0:2@9000"), "--burst: got '@9000', expected a second of the", 2),
        (("--queue-share", "a:weigth=1"), "unknown field of --queue-share a 'weigth'", 2),
        (("--queue-share", "a:parent=b"), "--queue-share a:parent: queue was not found: 'b'", 6),
        (("--queue-share", "a:parent=a"), "--queue-share a:parent: got 'a', expected", 2),
        (("--policy", "pakcing"), "unknown policy 'pakcing'; did you mean packing", 2),
        (("--out", str(MONDAY)), "--out: got", 2),
    ],
)
def test_a_name_missing_from_the_recording_is_reported_with_similar_names(
    words: tuple[str, ...], said: str, code: int
) -> None:
    found = stretto("simulate", MONDAY, *words)
    assert (found.exit_code, said in found.stderr) == (code, True), found.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "expected a recording (make one with: stretto record) or a trace in one of"),
        (b"hello\n", "expected a recording (make one with: stretto record) or a trace"),
        (b"\x00\xff\n", "expected a recording (make one with: stretto record) or a trace"),
        (b'{"recording":"stretto.recording/v2"}\n', "'stretto.recording/v2', expected stretto.rec"),
        (b'{"recording":"stretto.recording/v1"}\n?\n{}\n', "line 2: got '?', expected a line of a"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_what_to_do(
    tmp_path: Path, text: bytes, said: str
) -> None:
    (tmp_path / "f.jsonl").write_bytes(text)
    found = stretto("simulate", tmp_path / "f.jsonl")
    assert (found.exit_code, said in found.stderr) == (2, True), found.stderr
    assert "record again" in found.stderr or "make one with: stretto record" in found.stderr


def test_a_recording_that_was_cut_off_is_taken_up_to_there(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(MONDAY.read_bytes()[:4000])
    found = stretto("simulate", tmp_path / "cut.gz")
    assert (found.exit_code, "is truncated" in found.stderr) == (0, True)


@pytest.mark.parametrize(
    "words", [("--seeds", "42"), ("--arrive", "130"), ("--order", "file"), ("--workers", "2")]
)
def test_a_comparison_of_recordings_takes_no_option_of_traces(words: tuple[str, ...]) -> None:
    found = stretto("compare", MONDAY, *words)
    assert found.exit_code == 2
    assert f"{words[0]}: got '{words[1]}', expected no such option with a rec" in found.stderr


@pytest.mark.parametrize("words", [("--shards", "2"), ("--drain", "a=b"), ("--burst", "a/b:1")])
def test_a_comparison_over_a_trace_takes_no_option_of_recordings(words: tuple[str, ...]) -> None:
    trace = ("--format", "openb", "--nodes", MONDAY, "--pods", MONDAY)
    found = stretto("compare", *trace, *words)
    assert found.exit_code == 2
    assert f"{words[0]}: got '{words[1]}', expected a recording to vary" in found.stderr


@pytest.mark.parametrize("words", [("--policy", "packing", "--policy", "x"), ("--burst", "x:1")])
def test_a_comparison_is_refused_before_any_side_of_it_runs(words: tuple[str, ...]) -> None:
    found = stretto("compare", MONDAY, *words)
    assert (found.exit_code in (2, 6), "replayed" in found.stderr) == (True, False)


def test_a_created_queue_is_reported() -> None:
    found = stretto("simulate", MONDAY, "--queue-share", "new:weight=3", "-q")
    assert (found.exit_code, "the recording has no such queue; it is created" in found.stderr) == (
        0,
        True,
    )


def test_ctrl_c_ends_the_first_side_and_begins_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ctrl_c(self: OccupancySampler, time: float, *_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OccupancySampler, "sample", ctrl_c)
    found = stretto("compare", MONDAY, "--policy", "packing", "--json", tmp_path / "o.json")
    assert (found.exit_code, "interrupted; the figures cover 0 of 660 s" in found.stderr) == (
        130,
        True,
    )
    sides = msgspec.json.decode((tmp_path / "o.json").read_bytes())["sides"]
    assert [(side["side"], side["partial"]) for side in sides] == [("replayed", True)]


def test_a_durable_store_is_recorded_as_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    store, tape = f"sqlite:{tmp_path / 'run.db'}", tmp_path / "now.jsonl"
    quick = MONDAY.parents[1] / "quickstart.yaml"
    assert (
        stretto("run", quick, "--store", store, "--speed", "0", "--no-plots", "-q").exit_code == 0
    )
    assert stretto("record", "--on", store, "--out", tape, "-q").exit_code == 0
    assert stretto("simulate", tape, "-q").exit_code == 0


def test_a_recording_is_of_a_store_or_of_a_cluster(tmp_path: Path) -> None:
    words = ("--store", "sqlite:run.db", "--context", "prod", "--out", tmp_path / "now.jsonl")
    found = stretto("record", *words)
    assert (found.exit_code, "no other state next to a cluster" in found.stderr) == (2, True)


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
    assert (said.exit_code, "CheapestTariff is not used" in said.output) == (0, True)


def test_a_trace_has_no_profile_that_could_name_rules() -> None:
    words = ("--format", "openb", "--nodes", MONDAY, "--pods", MONDAY)
    assert stretto("compare", *words, *OWN_RULES).exit_code == 2
    assert stretto("simulate", *words, *OWN_RULES).exit_code == 2
