"""Data on stdout, the rest on stderr; progress for eyes and for logs; files whole or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.cli import sinks
from stretto.cli.console import Console, cell
from stretto.cli.progress import LineProgress


def reported(capsys: pytest.CaptureFixture[str], console: Console) -> tuple[str, str]:
    console.note("note")
    console.table(["name", "pods"], [["a", 1], ["b", None]], title="T")
    console.json("stretto.x/v1", {"n": np.int64(3), "list": np.arange(2), "nan": float("nan")})
    caught = capsys.readouterr()
    return caught.out, caught.err


def test_a_table_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = reported(capsys, Console())
    assert "pods" in out
    assert err == "note\n"


def test_quiet_leaves_data_only(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = reported(capsys, Console(quiet=True))
    assert "pods" in out
    assert err == ""


def test_json_on_stdout_is_alone_there(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = reported(capsys, Console(json="-"))
    found = json.loads(out)
    assert found == {"schema": "stretto.x/v1", "n": 3, "list": [0, 1], "nan": None}
    assert "pods" in err


def test_json_on_stdout_with_quiet_is_the_only_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys, Console(json="-", quiet=True))[1] == ""


def test_a_table_in_a_file_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    Console().table(["why"], [["x" * 300]])
    assert "x" * 300 in capsys.readouterr().out


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_colour_if_colours_are_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "dumb")
    Console().table(["a"], [["b"]])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (True, "yes"), (12345, "12,345"), (1.5, "1.50"), ("x", "x")]
)
def test_a_cell_is_for_people(value: object, shown: str) -> None:
    assert cell(value) == shown


# ---------------------------------------------------------------- progress


def lines_of(steps: list[tuple[float, int]], total: int = 100) -> list[str]:
    clock, lines = ManualClock(), list[str]()
    progress = LineProgress("placing", total, clock, lines.append)
    for time, done in steps:
        clock.set(time)
        progress.update(done, "note")
    return lines


def test_a_log_gets_a_line_at_every_tenth() -> None:
    lines = lines_of([(3, 4), (3, 9), (3, 11), (3, 12), (3, 55), (3, 100)])
    assert [line.split()[1] for line in lines] == ["11%", "55%", "100%"]
    assert lines[0] == "placing: 11% (11/100) · note"


def test_a_log_gets_a_line_after_half_a_minute_of_silence() -> None:
    assert len(lines_of([(29, 1), (31, 1), (32, 1), (62, 1)])) == 2


def test_work_of_less_than_two_seconds_needs_no_line() -> None:
    assert lines_of([(0, 11), (1, 55), (1.9, 100)]) == []


def test_nothing_to_do_is_all_done() -> None:
    assert lines_of([(3, 0)], total=0)[0].startswith("placing: 100%")


def test_quiet_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with Console(quiet=True).progress("placing", 10) as progress:
        progress.update(10)
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------- files


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    sinks.write_json(str(target), {"a": Path("b")})
    assert json.loads(target.read_text()) == {"a": "b"}
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    sinks.write_json(str(tmp_path / "link.json"), {})
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "{}\n"


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        sinks.write_json(str(target), {"a": object()})
    assert target.read_text() == "old"


def test_a_device_may_be_a_target() -> None:
    sinks.check_file("--json", "/dev/null")
    sinks.write_json("/dev/null", {})


def test_a_full_disk_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="No space left"):
        sinks.write_json("/dev/full", {"a": 1})


def test_an_output_folder_is_made_below_one_that_exists(tmp_path: Path) -> None:
    sinks.check_folder("--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    sinks.write_json(str(tmp_path / "new" / "a.json"), {})
    assert (tmp_path / "new" / "a.json").is_file()


@pytest.mark.parametrize("name", ["no/such", "file", "file/below"])
def test_an_output_folder_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--out"):
        sinks.check_folder("--out", tmp_path / name)


def test_no_line_of_a_table_ends_with_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    Console().table(["name", "text"], [["a", "long enough"], ["b", "x"]], title="T")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [line.rstrip() for line in lines]
    assert "long enough" in "".join(lines)


def test_times_in_json_are_rounded_and_nothing_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [{"time_s": 0.7940061799999967, "score": 0.7940061799999967}]
    waits = {"p50_ms": 251.03067899999587, "after_s": [0.2557343230000697]}
    Console(json="-").json("stretto.x/v1", {"seconds": 1.00000012, "steps": steps, "waits": waits})
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] == 1.0
    assert found["steps"] == [{"time_s": 0.794006, "score": 0.7940061799999967}]
    assert found["waits"] == {"p50_ms": 251.031, "after_s": [0.255734]}


def test_files_are_written_before_the_results_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "a.json"
    console = Console(json=str(target), holds=True)
    console.data("first")
    console.table(["n"], [[1]])
    assert capsys.readouterr().out == ""
    console.json("stretto.x/v1", {"n": 1})
    assert capsys.readouterr().out == ""
    console.release()
    assert capsys.readouterr().out.startswith("first\n")
    console.data("later")
    assert capsys.readouterr().out == "later\n"
