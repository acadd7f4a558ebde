"""One grammar names the state that a verb reads."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.cli.verbs import known
from tests.unit.web.dashboards import cookie_of, get

LOOKING = (
    "get", "explain", "story", "plan", "defragment", "queues", "shards", "doctor", "record",
    "capacity", "scale", "tides", "dashboard", "top", "recommend",
)  # fmt: skip
States = dict[str, str]


@pytest.fixture(scope="module")
def made(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its store and a recording of it."""
    folder = tmp_path_factory.mktemp("states")
    with pytest.MonkeyPatch.context() as patch:
        inside(folder, patch)
        scenario = str(repo_root / "examples/quickstart.yaml")
        words = ["run", scenario, "--speed", "0", "--no-plots", "-q", "--store", "sqlite:run.db"]
        assert CliRunner().invoke(cli, words).exit_code == 0
        tape = ["record", "--on", "sqlite:run.db", "--out", "tape.jsonl", "-q"]
        assert CliRunner().invoke(cli, tape).exit_code == 0
    return folder


def inside(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Run commands in a folder, on the NumPy tier."""
    patch.chdir(folder)
    patch.setenv("STRETTO_STATE", str(folder / "state"))
    patch.setattr("stretto.framework.kernels.tiers.has_numba", lambda: False)


@pytest.fixture
def states(made: Path, repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> States:
    """One state of each sort by its name, in a copy of the folder."""
    folder = shutil.copytree(made, tmp_path / "copy")
    inside(folder, monkeypatch)
    (record,) = (folder / "state/runs").glob("*.sqlite")
    return {
        "latest run": "latest",
        "run": "quickstart",
        "path of a record": str(record),
        "scenario": str(repo_root / "examples/quickstart.yaml"),
        "store": "sqlite:run.db",
        "path of a store": "run.db",
        "recording": "tape.jsonl",
    }


SORTS = [
    "latest run", "run", "path of a record", "scenario", "store", "path of a store", "recording",
]  # fmt: skip


@pytest.mark.parametrize("sort", SORTS)
def test_every_verb_takes_every_state(sort: str, states: States) -> None:
    on = ["--on", states[sort]]
    for words, said in (
        (["get", "pods", "--pending", "-o", "name"], "pod/default/dream-0"),
        (["explain", "dream-0"], "too-big"),
        (["story", "dream-0"], "default/dream-0"),
        (["queues"], "default"),
        (["shards"], "1 shard"),
        (["doctor"], "All invariants hold."),
        (["defragment"], "no move within the budget"),
    ):
        result = CliRunner().invoke(cli, [*words, *on])
        assert (result.exit_code, said in result.stdout) == (0, True), (words, result.output)


@pytest.mark.parametrize("sort", ["run", "scenario", "store", "recording"])
def test_a_dashboard_takes_every_state(
    sort: str, states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(
        "stretto.serving.sockets.serve",
        lambda app, *_: pages.append(get(app, "/pods", {"cookie": cookie_of(app)}).text),
    )
    result = CliRunner().invoke(cli, ["dashboard", "--port", "0", "--on", states[sort]])
    assert (result.exit_code, "http://127.0.0.1:" in result.stdout) == (0, True), result.output
    assert "even empty" in pages[0]


@pytest.mark.parametrize("sort", SORTS)
def test_a_plan_and_a_recording_take_every_state(
    sort: str, states: States, repo_root: Path
) -> None:
    on = ["--on", states[sort]]
    job = str(repo_root / "examples/plan/batch.yaml")
    planned = CliRunner().invoke(cli, ["plan", job, *on, "--json", "-", "-q"])
    assert json.loads(planned.stdout)["pods"] == 4
    recorded = CliRunner().invoke(cli, ["record", "--out", "again.jsonl.gz", *on])
    assert (recorded.exit_code, "objects" in recorded.stdout) == (0, True), recorded.output


@pytest.mark.parametrize("verb", LOOKING)
def test_every_verb_has_the_same_options_of_a_state(verb: str) -> None:
    shown = CliRunner().invoke(cli, [verb, "--help"]).stdout
    for option in ("--on STATE", "--cluster", "--kubeconfig", "--context", "--scheduler-name"):
        assert option in shown


def test_no_other_verb_reads_a_state() -> None:
    context = click.Context(cli)
    found = [
        name
        for name in known()
        if any(each.name == "old_state" or "--on" in each.opts for each in _options(context, name))
    ]
    assert sorted(found) == sorted(LOOKING)


def _options(context: click.Context, name: str) -> list[click.Parameter]:
    command = cli.get_command(context, name)
    return [] if command is None else command.params


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "dream-0", "--run", "{}"],
        ["story", "dream-0", "--run", "{}"],
        ["queues", "{}"],
        ["shards", "{}"],
        ["doctor", "{}"],
        ["record", "--store", "{}", "--out", "again.jsonl"],
    ],
    ids=lambda words: words[0],
)
def test_old_spellings_still_work_and_are_not_shown(words: list[str], states: States) -> None:
    spelled = [each.format(states["store"]) for each in words]
    result = CliRunner().invoke(cli, spelled)
    assert result.exit_code == 0, result.output
    shown = CliRunner().invoke(cli, [words[0], "--help"]).stdout
    assert "--run " not in shown
    assert "--store" not in shown
    assert "OLD_STATE" not in shown.upper()


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("examples", "a folder"),
        ("job.yaml", "such files are for: stretto plan job.yaml"),
        ("profile.yaml", "--profile profile.yaml"),
        ("pods.csv", "stretto convert --columns MAP.yaml pods.csv"),
        ("missing.jsonl", "no file of that name"),
        ("photo.db", "another kind of file"),
    ],
)
def test_what_is_no_state_is_refused_with_the_verb_that_reads_it(
    spelled: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / "job.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    (tmp_path / "profile.yaml").write_text("profiles: [{schedulerName: a}]\n")
    (tmp_path / "pods.csv").write_text("name,cpu_milli\na,1\n")
    (tmp_path / "photo.db").write_bytes(b"\x89PNG\r\n")
    result = CliRunner().invoke(cli, ["get", "pods", "--on", spelled])
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


Read = Callable[[str], str]


def test_a_store_may_be_read_with_another_profile(states: States) -> None:
    words = ["explain", "dream-0", "--on", states["store"], "--profile", "packing"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    words[-1] = "packng"
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, "packing" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("shapes", "hint"),
    [
        ("64cpu-256gib-8gpuu:4", "did you mean '64cpu-256gib-8gpu:4'?"),
        ("64cores-256GB:4,4CPU-8Gi:2", "did you mean '64cpu-256gib:4,4cpu-8gib:2'?"),
        ("64cpu-8gpu:4", "expected a run, or a shape and a count such as 64cpu-256gib:200"),
        ("4cpu-8gib:400000000", "expected 1..1,000,000 nodes in all"),
        ("99999999cpu-8gib:1", "expected 1..10000 cpu"),
    ],
)
def test_mistyped_shapes_of_nodes_are_answered_with_their_form(shapes: str, hint: str) -> None:
    result = CliRunner().invoke(cli, ["get", "nodes", "--on", shapes])
    assert (result.exit_code, hint in result.stderr) == (2, True), result.stderr
