"""The checklists of CONTRIBUTING.md, executed: each names the files that its recipe touches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes.patching import Recipe, copy_source, read_recipe, steps, unmatched

HERE = Path(__file__).parent
RECIPES = [read_recipe(path.parent) for path in sorted(HERE.glob("*/recipe.toml"))]

NUMPY_ONLY = """import sys; sys.modules["numba"] = None"""
"""Keeps numba from compiling the kernels of each copy."""

every_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.folder.name)


def test_there_is_a_recipe_for_each_extension_point() -> None:
    names = {recipe.folder.name for recipe in RECIPES}
    assert names == {"kind", "plugin", "queue_policy", "sibling_policy", "trace_format", "verb"}


@every_recipe
def test_a_checklist_names_exactly_the_files_that_its_recipe_touches(
    recipe: Recipe, repo_root: Path
) -> None:
    contributing = (repo_root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert list(unmatched(steps(contributing, recipe.checklist), recipe)) == []


@every_recipe
def test_the_result_of_a_recipe_works(recipe: Recipe, repo_root: Path, tmp_path: Path) -> None:
    copy_source(repo_root, tmp_path)
    recipe.apply(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(NUMPY_ONLY)
    path = os.pathsep.join(str(tmp_path / folder) for folder in ("src", "site"))
    environment = {**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path)}
    program = [sys.executable, str(recipe.folder / "check.py")]
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
