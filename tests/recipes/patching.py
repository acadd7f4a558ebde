"""Recipes: small patches that follow a checklist of CONTRIBUTING.md.

A recipe is a folder with ``recipe.toml`` (the checklist it follows, and lines to insert after an
anchor), ``files`` (new files under their paths in the repository) and ``check.py`` (a program that
uses the result).
"""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import cache_from_source
from itertools import chain
from pathlib import Path
from typing import Any

_STEP = re.compile(r"^- (new file|entry in) `([^`]+)`", re.MULTILINE)
_PLACEHOLDER = "NAME"


@dataclass(frozen=True)
class Recipe:
    """One recipe."""

    #: Its folder.
    folder: Path
    #: Heading of its checklist in CONTRIBUTING.md.
    checklist: str
    #: Lines to insert: file, anchor, lines.
    inserts: tuple[tuple[str, str, str], ...]

    @property
    def new_files(self) -> dict[str, str]:
        """Path in the repository to text of each new file."""
        root = self.folder / "files"
        return {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*.py"))
        }

    def apply(self, root: Path) -> set[str]:
        """Apply the recipe to a copy of the repository; returns the paths that it touches."""
        for path, text in self.new_files.items():
            target = root / path
            assert not target.exists(), f"{path} exists already"
            target.write_text(text, encoding="utf-8")
        for path, anchor, lines in self.inserts:
            old = (root / path).read_text(encoding="utf-8")
            assert old.count(anchor) == 1, f"{path}: the anchor {anchor!r} must occur once"
            (root / path).write_text(old.replace(anchor, f"{anchor}{lines}"), encoding="utf-8")
        return {*self.new_files, *(path for path, _, _ in self.inserts)}


def read_recipe(folder: Path) -> Recipe:
    """The recipe in a folder."""
    data: dict[str, Any] = tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))
    inserts = tuple((each["file"], each["after"], each["lines"]) for each in data["insert"])
    return Recipe(folder, data["checklist"], inserts)


def steps(contributing: str, checklist: str) -> list[tuple[str, str]]:
    """The (step, path) pairs that a checklist names, such as ``("entry in", "src/...")``."""
    sections = re.split(r"^### ", contributing, flags=re.MULTILINE)
    (section,) = [text for text in sections if text.splitlines()[0] == checklist]
    return _STEP.findall(section)


def unmatched(named: list[tuple[str, str]], recipe: Recipe) -> Iterator[str]:
    """Differences between the files of a checklist and those that a recipe touches."""
    found = {
        *(("new file", path) for path in recipe.new_files),
        *(("entry in", path) for path, _, _ in recipe.inserts),
    }
    for step, pattern in named:
        shape = re.escape(pattern).replace(_PLACEHOLDER, "[a-z_]+")
        hits = {each for each in found if each[0] == step and re.fullmatch(shape, each[1])}
        if len(hits) != 1:
            yield f"the checklist names {step} {pattern}, the recipe touches {sorted(hits)}"
        found -= hits
    yield from (f"the checklist does not name {step} {path}" for step, path in sorted(found))


def copy_source(repository: Path, target: Path) -> None:
    """Copy the source files of the repository, and their bytecode where it exists."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"]
    listed = subprocess.run(listing, cwd=repository, capture_output=True, text=True, check=True)
    names = listed.stdout.splitlines()
    for name in chain(names, map(cache_from_source, names)):
        if (repository / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, target / name)
