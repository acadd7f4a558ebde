"""A command that needs an optional dependency names the extra that installs it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli import failures
from stretto.cli.main import cli
from stretto.framework.kernels import tiers


def run_without(packages: Sequence[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process in which these packages are not installed."""
    code = (
        "import sys; from stretto.cli.main import main\n"
        f"sys.modules.update(dict.fromkeys({list(packages)}))\n"
        f"sys.argv[1:] = {list(words)}; main()"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest without objects."""
    (tmp_path / "empty.yaml").touch()
    return tmp_path / "empty.yaml"


@pytest.mark.parametrize("command", ["scheduler", "record", "plan"])
def test_a_command_for_a_cluster_names_the_extra_kube(command: str, manifest: Path) -> None:
    words = {
        "scheduler": ["scheduler", "--kubeconfig", str(manifest)],
        "record": ["record", "--kubeconfig", str(manifest), "--out", str(manifest.parent / "r.gz")],
        "plan": ["plan", str(manifest), "--kubeconfig", str(manifest)],
    }
    done = run_without(["aiohttp", "uvloop", "yarl"], *words[command])
    assert done.returncode == 2
    assert "needs the extra kube: pip install 'stretto[kube]'" in done.stderr


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
    done = run_without(["matplotlib"], *words)
    assert done.returncode == 0
    message = "Plots skipped: matplotlib is not installed (pip install 'stretto[reports]')."
    assert message in done.stderr


def test_a_module_that_no_extra_installs_is_a_bug() -> None:
    failure = failures.failure_of(ModuleNotFoundError("No module named 'x'", name="x"))
    assert (failure.code, failure.unexpected) == (1, True)
