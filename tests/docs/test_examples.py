"""Every example runs as a user runs it, and prints its ``.out`` file.

Figures that depend on the machine are masked (``~``), and how wide a column is does not count.
After a change that is meant: ``make examples``, then look at the difference.
"""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Rows of the report whose value is of the machine.
_VOLATILE = re.compile(r"^( *(?:pods/s|latency p50[^)]*\)|seconds) +)\S.*$", re.MULTILINE)
WRITE = bool(os.environ.get("STRETTO_WRITE_EXAMPLES"))


def masked(text: str) -> str:
    lines = _VOLATILE.sub(r"\1~", text).strip("\n").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def narrow(text: str) -> str:
    return re.sub(" +", " ", re.sub("─+", "─", text))


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_prints_its_recorded_output(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    words = ["run", str(example), "--speed", "0", "--no-plots", "-q"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    expected = example.with_suffix(".out")
    if WRITE:
        expected.write_text(masked(result.stdout), encoding="utf-8")
    assert narrow(masked(result.stdout)) == narrow(expected.read_text(encoding="utf-8"))
    assert result.stderr == ""


def test_every_expected_output_has_its_example() -> None:
    assert [p.name for p in EXAMPLES.glob("*.out") if not p.with_suffix(".yaml").exists()] == []
