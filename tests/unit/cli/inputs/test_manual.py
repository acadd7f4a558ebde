"""Each command has a manual page with its options and its examples."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stretto.cli.main import cli
from stretto.cli.manual import manual_pages

PAGES = manual_pages(cli, "stretto")


def test_every_command_has_a_page_that_names_its_options() -> None:
    for name in cli.verbs():
        page = PAGES.get(f"stretto-{name}.1")
        assert page is not None, name
        assert ".SH NAME\nstretto" in page
    assert "\\-\\-all\\-namespaces" in PAGES["stretto-get.1"]
    assert ".SH EXAMPLES" in PAGES["stretto-get.1"]
    assert "explain" in PAGES["stretto.1"].partition(".SH COMMANDS")[2]


def test_hidden_options_are_not_in_the_manual() -> None:
    assert "old" not in PAGES["stretto-explain.1"].lower().split()
    assert "\\-\\-run " not in PAGES["stretto-explain.1"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("name", ["stretto.1", "stretto-run.1", "stretto-get.1"])
def test_roff_formats_a_page_without_a_warning(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PAGES[name], encoding="utf-8")
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
