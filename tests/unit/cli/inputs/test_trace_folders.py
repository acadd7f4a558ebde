"""``stretto simulate`` on the folder of a download."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

TRACES = Path(__file__).parents[4] / "examples/traces"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A download with sub-folders."""
    (tmp_path / "trace/data").mkdir(parents=True)
    return tmp_path / "trace"


def simulate(*words: object) -> Result:
    return CliRunner().invoke(cli, ["simulate", *map(str, words), "--json", "-", "-q"])


def test_the_work_and_the_nodes_of_a_folder_are_found(folder: Path) -> None:
    shutil.copy(TRACES / "elasticflow.csv", folder / "data")
    shutil.copy(TRACES / "cluster_spec.csv", folder)
    of_folder = simulate(folder)
    by_name = simulate(TRACES / "elasticflow.csv", "--nodes", TRACES / "cluster_spec.csv")
    assert of_folder.exit_code == 0, of_folder.output
    assert json.loads(of_folder.stdout) == json.loads(by_name.stdout)


def test_nodes_of_an_option_replace_the_list_in_the_folder(folder: Path) -> None:
    shutil.copy(TRACES / "elasticflow.csv", folder / "data")
    shutil.copy(TRACES / "cluster_spec.csv", folder)
    shape = "8cpu-64gib-8gpu-V100:4"
    by_name = simulate(TRACES / "elasticflow.csv", "--nodes-like", shape)
    assert json.loads(simulate(folder, "--nodes-like", shape).stdout) == json.loads(by_name.stdout)


def test_a_format_of_several_tables_reads_its_folder() -> None:
    found = json.loads(simulate(TRACES / "pai").stdout)
    assert (found["placed"], found["rejected"]) == (46, 0)


def test_two_lists_of_work_are_refused_with_their_names(folder: Path) -> None:
    for name in ("a.swf", "b.swf"):
        shutil.copy(TRACES / "small.swf", folder / name)
    result = simulate(folder)
    assert result.exit_code == 2
    assert "got 'a.swf, b.swf', expected one work list; name the file" in result.output


def test_a_folder_of_manifests_names_the_command_for_it(folder: Path) -> None:
    (folder / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
    result = simulate(folder)
    assert result.exit_code == 2
    assert f"try: stretto plan {folder}" in result.output
