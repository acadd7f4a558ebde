"""What a file holds, by its content."""

from pathlib import Path

import pytest

from stretto.sim.history.file_kinds import FileKind, kind_of_file


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
