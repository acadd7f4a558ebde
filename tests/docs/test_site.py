"""The documentation site builds without a warning, has no orphan page, and matches the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stretto.inputs.workloads.gangs import FORMS
from stretto.inputs.workloads.jobs import KUEUE_QUEUE
from tests.docs import test_console

#: Pages of the site with console blocks that run, in addition to those of ``test_console``.
PAGES = ("docs/index.md", "docs/first-hour.md", "docs/reference/exit-codes.md")
#: Prefixes of keys that the page of labels must list.
_KEY = re.compile(
    r"(?<!b)\"((?:stretto\.dev|godel\.bytedance\.com|katalyst\.kubewharf\.io|[a-z.]*volume\.(?:beta\.)?"
    r"kubernetes\.io|pv\.kubernetes\.io|topology\.kubernetes\.io|failure-domain\.beta\.kubernetes"
    r"\.io)/[a-z][a-z0-9_-]+)\""
)
#: Keys that are made of Gödel's prefix and a word.
_WORD = re.compile(r"^[A-Z_]+: Final = f\"\{PREFIX\}([a-z0-9-]+)\"$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", ["basic", pytest.param("furo", marks=pytest.mark.slow)])
def test_the_site_builds_without_a_warning(theme: str, repo_root: Path, tmp_path: Path) -> None:
    """Furo draws every page's navigation, which takes half of the time of the whole build."""
    pytest.importorskip("furo")
    words = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-d", str(tmp_path / "trees")]
    words += ["-D", f"html_theme={theme}"]
    paths = [str(repo_root / "docs"), str(tmp_path / "site")]
    environment = {**os.environ, "PYTHONPATH": str(repo_root / "src")}
    command = [sys.executable, "-m", "sphinx", *words, *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").exists()
    assert (tmp_path / "site" / "schemas" / "stretto.run.v1.json").exists()


def test_every_page_is_in_exactly_one_toctree(repo_root: Path) -> None:
    docs = repo_root / "docs"
    listed = []
    for page in docs.rglob("*.md"):
        for block in _TOCTREE.findall(page.read_text(encoding="utf-8")):
            entries = (line for line in block.splitlines() if line and not line.startswith(":"))
            listed += [(page.parent / f"{entry}.md").relative_to(docs) for entry in entries]
    pages = [page.relative_to(docs) for page in docs.rglob("*.md")]
    assert sorted(listed) == sorted(page for page in pages if page != Path("index.md"))


@pytest.mark.parametrize("name", PAGES)
def test_console_blocks_of_the_site_have_the_shown_output(
    name: str, repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = test_console.test_every_console_block_has_the_shown_output
    run(name, repo_root, tmp_path, monkeypatch)


def test_every_label_and_annotation_is_documented(repo_root: Path) -> None:
    page = (repo_root / "docs/reference/labels.md").read_text(encoding="utf-8")
    missing = set()
    for source in (repo_root / "src").rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        keys = {*_KEY.findall(text), *(f"godel.bytedance.com/{w}" for w in _WORD.findall(text))}
        missing |= {key for key in keys if f"`{key}`" not in page and "lab" not in source.parts}
    assert sorted(missing) == []


def test_every_key_of_a_gang_is_documented(repo_root: Path) -> None:
    page = (repo_root / "docs/reference/labels.md").read_text(encoding="utf-8")
    keys = {key for form in FORMS for key in (*form.names, *form.least, *form.ignored)}
    keys |= {KUEUE_QUEUE, "kueue.x-k8s.io/job-min-parallelism", "ray.io/gang-scheduling-enabled"}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []


def test_every_key_of_a_profile_is_documented(repo_root: Path) -> None:
    page = (repo_root / "docs/reference/profile.md").read_text(encoding="utf-8")
    keys = set()
    for source in (repo_root / "src/stretto/framework").rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        if "read.mapping(" in text and "plugins" not in source.parts:
            tables = r"^_(?:OWN_KEYS|KEYS|PROTECTED|PROFILE|PASSIVE): Final = \((.*?)\)$"
            for table in re.findall(tables, text, re.MULTILINE | re.DOTALL):
                keys |= set(re.findall(r"\"(\w+)\"", table))
    assert len(keys) > 30
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", page)) == []
