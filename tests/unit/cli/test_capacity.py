"""``stretto capacity``: bad input and exit codes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

ON = ("--on", "examples/kubernetes.yaml", "--tier", "numpy")
WEB = "examples/capacity/web.yaml"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((WEB, "--lose", "nowhere"), 6, "node nowhere"),
        ((WEB, "--add", "node-b"), 2, "NODE=N"),
        ((WEB, "--add", "node-b=0"), 2, "--add: got 'node-b=0', expected NODE=N, with a number N"),
        ((WEB, "--add", "node-b=9999999"), 2, "N of 1..1,000,000"),
        ((WEB, "--buy", "100001"), 2, "'--buy': 100001 is not in the range 1<=x<=100000"),
        ((WEB, "--compact", "1001"), 2, "'--compact': 1001 is not in the range 0<=x<=1000"),
        ((WEB, "--most", "1000001"), 2, "'--most': 1000001 is not in the range 1<=x<=1000000"),
    ],
)
def test_bad_options_are_named(words: tuple[str, ...], code: int, said: str) -> None:
    result = CliRunner().invoke(cli, ["capacity", *words, *ON])
    assert (result.exit_code, said in result.output) == (code, True)


def test_a_manifest_without_pods_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n")
    result = CliRunner().invoke(cli, ["capacity", str(file), *ON])
    assert (result.exit_code, "an object with pods" in result.output) == (2, True)


def test_a_pod_that_fits_nowhere_ends_with_exit_code_three(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    file.write_text(Path(WEB).read_text(encoding="utf-8").replace("cpu: 2", "cpu: 2000"))
    assert CliRunner().invoke(cli, ["capacity", str(file), *ON]).exit_code == 3
