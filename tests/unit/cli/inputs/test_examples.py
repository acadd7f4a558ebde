"""Examples are part of the package and run by name; catalogs list valid names."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from stretto.cli.bundled.examples import example_names, example_path, examples_folder
from stretto.cli.main import cli
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import PROFILES, load_profile


def test_every_scenario_of_the_repository_is_an_example(repo_root: Path) -> None:
    assert examples_folder() == repo_root / "examples"
    assert example_names() == sorted(path.stem for path in (repo_root / "examples").glob("*.yaml"))


def test_the_wheel_contains_the_examples(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["examples"] == "stretto/examples"


def test_each_example_has_a_sentence() -> None:
    result = CliRunner().invoke(cli, ["examples", "--json", "-", "-q"])
    found = json.loads(result.stdout)["examples"]
    assert [each["name"] for each in found if len(each["summary"]) < 20] == []


@pytest.mark.parametrize("verb", ["examples", "profiles", "policies", "rules"])
def test_lists_have_the_output_formats_of_get(verb: str) -> None:
    document = json.loads(CliRunner().invoke(cli, [verb, "-o", "json"]).stdout)
    names = CliRunner().invoke(cli, [verb, "-o", "name"]).stdout.split()
    assert document["schema"] == f"stretto.{verb}/v1"
    assert [each["name"] for each in document.get("items") or document[verb]] == names


def test_an_example_is_printed_as_it_stands() -> None:
    result = CliRunner().invoke(cli, ["examples", "quickstart"])
    assert result.stdout == example_path("quickstart").read_text(encoding="utf-8")


def test_an_example_runs_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    words = ["run", "quickstart", "--speed", "0", "--no-plots", "-q", "--tier", "numpy"]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, "quickstart: done" in result.stdout) == (0, True), result.stderr
    result = CliRunner().invoke(cli, ["run", "quikstart"])
    assert (result.exit_code, "did you mean quickstart?" in result.stderr) == (2, True)


def test_a_file_of_the_same_name_is_preferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quickstart").write_text("fleet: 3\n")
    result = CliRunner().invoke(cli, ["run", "quickstart"])
    assert (result.exit_code, "fleet" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", list(PROFILES))
def test_a_profile_is_shown_as_a_file_that_can_be_loaded(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["profiles", "show", name])
    assert result.exit_code == 0, result.stderr
    text = result.stdout.partition("As a file:\n")[2]
    assert yaml.safe_load(text)["kind"] == "KubeSchedulerConfiguration"
    (tmp_path / "p.yaml").write_text(text)
    found, own = load_profile(tmp_path / "p.yaml"), load_profile(name)
    assert [rule.NAME for rule, _ in found.scores] == [rule.NAME for rule, _ in own.scores]
    assert (found.ties, found.device_pick, found.exact) == (own.ties, own.device_pick, own.exact)


def test_the_catalogs_list_everything_with_a_sentence() -> None:
    for verb, expected in (("profiles", set(PROFILES)), ("rules", set(RULES))):
        found = json.loads(CliRunner().invoke(cli, [verb, "--json", "-", "-q"]).stdout)["items"]
        assert {each["name"] for each in found} == expected
        assert [each["name"] for each in found if not each["sentence"]] == []
    found = json.loads(CliRunner().invoke(cli, ["policies", "--json", "-", "-q"]).stdout)["items"]
    kinds = {"score", "queue", "between queues", "dispatch", "forecast"}
    assert {each["kind"] for each in found} == kinds
    assert [each["name"] for each in found if not each["sentence"]] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["profiles", "show", "packng"], "did you mean packing"),
        (["profiles", "packng"], "did you mean packing"),
        (["policies", "show", "fdg"], "fgd"),
        (["rules", "show", "TaintTolerations"], "did you mean TaintToleration?"),
        (["rules", "show"], "Expected `show NAME`"),
        (["profiles", "show", "a", "b"], "Expected `show NAME`"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(words: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
