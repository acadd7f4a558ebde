"""Wrong options are reported by the names that were typed, and scenarios by their file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,32768,2,T4\n"
JOBS = "jobid,submitted_s,gpus,duration_s\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.csv").write_text(NODES)
    (tmp_path / "p.csv").write_text(JOBS)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("philly", "--gpus", "0"), "'--gpus': 0 is not in the range x>=1"),
        (("openb", "--nodes", "n.csv", "--node-filter", "model"), "--node-filter: got 'model'"),
        (("openb", "--nodes", "n.csv", "--node-filter", "modle=T4"), "--node-filter key 'modle'"),
        (
            ("openb", "--nodes", "n.csv", "--node-filter", "model=A9"),
            "--node-filter: got 'model=A9'",
        ),
    ],
)
def test_an_option_is_named_as_it_was_typed(
    folder: Path, words: tuple[str, ...], expected: str
) -> None:
    result = CliRunner().invoke(cli, ["simulate", "--pods", "p.csv", "--format", *words])
    assert result.exit_code == 2
    assert expected in result.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("policy: fdg", "unknown policy 'fdg' in scenario s.yaml; did you mean fgd?"),
        (
            "workloads: [{pods: {cpu: 1, memory: 1Gi, spec: {nodeSelecter: {a: b}}}}]",
            "nodeSelector",
        ),
    ],
)
def test_a_scenario_is_named_by_its_file(folder: Path, line: str, expected: str) -> None:
    (folder / "s.yaml").write_text(f"fleet: {{like: '4cpu-8gib:1'}}\n{line}\n")
    result = CliRunner().invoke(cli, ["run", "s.yaml"])
    assert result.exit_code == 2
    assert "scenario s.yaml" in result.stderr
    assert expected in result.stderr


SHAPE = "fleet: {{shapes: [{{name: {name}, count: {count}, cpu: 1, memory: 1Gi}}]}}\n"


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("n", 1, "name: got False, expected a text; quote it: YAML reads y, n"),
        ("box", 10**20, "got 'about 1e+20', expected at most 9,007,"),
    ],
)
def test_values_that_yaml_changes_are_explained(
    folder: Path, name: str, count: int, expected: str
) -> None:
    (folder / "s.yaml").write_text(SHAPE.format(name=name, count=count))
    assert expected in CliRunner().invoke(cli, ["run", "s.yaml"]).stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "scenaro.yaml"], "did you mean scenario.yaml?"),
        (["run", "quickstart.yaml"], "did you mean the bundled example quickstart?"),
        (["explain", "web-0", "--on", "scenaro.yml"], "did you mean scenario.yaml?"),
        (["plan", "scenaro.yaml"], "did you mean scenario.yaml?"),
        (["simulate", "scenaro.yaml"], "did you mean scenario.yaml?"),
        (["run", "other.yaml"], "other.yaml does not exist (see"),
    ],
)
def test_a_missing_file_shows_the_name_of_a_similar_one(
    folder: Path, words: list[str], expected: str
) -> None:
    for name in ("scenario.yaml", "scenario.out"):
        (folder / name).write_text("name: s")
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert expected in result.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_seconds_that_are_no_number_of_seconds_are_refused(folder: Path, seconds: str) -> None:
    words = ["record", "--store", "sqlite:run.db", "--out", "o.jsonl", "--for", seconds]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert f"'--for': {seconds} is not a finite number" in result.stderr


@pytest.mark.parametrize("shape", ["nonsense", "64cpu-256gib:3", "0cpu-1gib"])
def test_the_shape_of_local_nodes_is_quoted_without_their_number(folder: Path, shape: str) -> None:
    result = CliRunner().invoke(cli, ["up", "--nodes", "5", "--like", shape])
    assert result.exit_code == 2
    assert f"--like: got '{shape}'" in result.stderr
