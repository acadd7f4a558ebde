"""Measured use: bundled series, folders of both forms, and refused files."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.inputs.traces.measured_use import load_measured_use, read_use


def test_the_bundled_series_are_two_weeks_of_ten_machines() -> None:
    found = load_measured_use()
    assert {len(series) for series in found.cpu.values()} == {14 * 288}
    assert (len(found.cpu), len(found.requests)) == (10, 1)
    assert all(0 <= sample <= 1000 for series in found.cpu.values() for sample in series)
    assert "MIT" in found.licence


def test_a_folder_holds_percents_or_tables(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "vm1").write_text("7\n" * 12)
    rows = "".join(f"2014-02-14 14:{n:02}:00,1.26\n" for n in range(12))
    (tmp_path / "vm2.csv").write_text(f"timestamp,value\n{rows}")
    assert read_use(tmp_path).cpu == {"day/vm1": (70,) * 12, "vm2.csv": (13,) * 12}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("7\n101\n", "line 2: got '101'"),
        ("7\nx\n", "a whole percent from 0 to 100"),
        ("7\n-1\n", "line 2: got '-1'"),
        ("7\n" * 11, "11 samples"),
        ("", "0 samples"),
        ("timestamp,value\n1,101\n", "line 2, column value"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "vm").write_text(text)
    with pytest.raises(InputError, match=said):
        read_use(tmp_path)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one file per machine"):
        read_use(tmp_path)
