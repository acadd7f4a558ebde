"""A command that needs an optional dependency names the extra that installs it."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli import failures
from stretto.cli.main import cli
from stretto.framework.kernels import tiers


def run_without(packages: Sequence[str], *commands: Sequence[str]) -> list[tuple[int, str]]:
    """Run commands in a process in which these packages are not installed: codes and output."""
    code = (
        "import json, sys; from click.testing import CliRunner; from stretto.cli.main import cli\n"
        f"sys.modules.update(dict.fromkeys({list(packages)}))\n"
        f"done = [CliRunner().invoke(cli, words) for words in {list(map(list, commands))}]\n"
        "print(json.dumps([(each.exit_code, each.output) for each in done]))"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return [(code, output) for code, output in json.loads(done.stdout)]


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest without objects."""
    (tmp_path / "empty.yaml").touch()
    return tmp_path / "empty.yaml"


def test_a_command_for_a_cluster_names_the_extra_kube(manifest: Path) -> None:
    on = ["--kubeconfig", str(manifest)]
    commands = (
        ["scheduler", *on],
        ["record", *on, "--out", str(manifest.parent / "r.gz")],
        ["plan", str(manifest), *on],
    )
    for code, output in run_without(["aiohttp", "uvloop", "yarl"], *commands):
        assert code == 2
        assert "needs the extra kube: pip install 'stretto[kube]'" in output


@pytest.mark.parametrize("package", ["cronsim", "jinja2", "starlette"])
def test_a_local_cluster_names_the_extra_web(package: str) -> None:
    [(code, output)] = run_without([package], ["up", "--nodes", "1"])
    assert code == 2
    assert "needs the extra web: pip install 'stretto[web]'" in output


def test_tier_numba_names_the_extra_kernels(
    repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "has_numba", lambda: False)
    monkeypatch.chdir(tmp_path)
    words = ["run", str(repo_root / "examples/quickstart.yaml"), "--tier", "numba"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "needs the extra kernels: pip install 'stretto[kernels]'" in result.output


def test_a_run_without_matplotlib_skips_the_plots(
    repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    words = ["run", str(repo_root / "examples/quickstart.yaml"), "--speed", "0", "--tier", "numpy"]
    [(code, output)] = run_without(["matplotlib"], words)
    assert code == 0
    message = "Plots skipped: matplotlib is not installed (pip install 'stretto[reports]')."
    assert message in output


def test_a_module_that_no_extra_installs_is_a_bug() -> None:
    failure = failures.failure_of(ModuleNotFoundError("No module named 'x'", name="x"))
    assert (failure.code, failure.unexpected) == (1, True)
