"""Kind of a file, by its content."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.sim.history.file_kinds import FileKind, expect_kind, kind_of_file


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("plugins:\n  score: {}\n", FileKind.PROFILE),
        ("schedulerName: x\npluginConfig: []\n", FileKind.PROFILE),
        ("site_name: Docs\ntheme: x\nplugins:\n  - search\n", None),
        ("version: v1\nplugins:\n  - name: go\n", None),
        ("scheduler: {}\ncontroller: {}\nplugins: {}\npluginConfig: []\n", None),
    ],
)
def test_a_profile_has_mostly_keys_of_a_profile(
    tmp_path: Path, text: str, kind: FileKind | None
) -> None:
    (tmp_path / "x.yaml").write_text(text)
    assert kind_of_file(tmp_path / "x.yaml") is kind


def test_a_table_of_an_unknown_form_is_answered_with_the_column_map(tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("id,cores,arrive\n1,2,3\n")
    assert kind_of_file(table) is FileKind.TABLE
    with pytest.raises(InputError) as refused:
        expect_kind(table, FileKind.SCENARIO)
    assert f"stretto convert --columns MAP.yaml {table}" in str(refused.value)
    assert "known formats: openb, philly" in str(refused.value)
