"""The files of other projects that the dashboard serves: unchanged, listed and licensed."""

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stretto.web import dashboard
from tests.test_structure import ROOT

STATIC = Path(dashboard.__file__).parent / "static"
VENDORED = STATIC / "vendor"
LISTED: list[dict[str, Any]] = tomllib.loads((VENDORED / "files.toml").read_text())["file"]
NAMES = [each["file"] for each in LISTED]


@pytest.mark.parametrize("listed", LISTED, ids=NAMES)
def test_a_listed_file_is_unchanged(listed: dict[str, Any]) -> None:
    content = (VENDORED / listed["file"]).read_bytes()
    assert len(content) == listed["bytes"]
    assert hashlib.sha256(content).hexdigest() == listed["sha256"]


def test_every_file_of_the_folder_is_listed_or_a_license() -> None:
    licenses = {each["license_file"] for each in LISTED}
    found = {each.name for each in VENDORED.iterdir()}
    assert found == {*NAMES, *licenses, "files.toml"}


@pytest.mark.parametrize("listed", LISTED, ids=NAMES)
def test_the_page_of_licenses_names_every_file(listed: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if f"`{listed['file']}`" in line)
    wanted = (listed["project"], listed["version"], listed["source"], listed["license"])
    assert all(word in row for word in wanted)


@pytest.mark.parametrize(
    ("kind", "builder"), [("wheel", "WheelBuilder"), ("sdist", "SdistBuilder")]
)
def test_distributions_contain_the_files(kind: str, builder: str) -> None:
    module = pytest.importorskip(f"hatchling.builders.{kind}")
    built = getattr(module, builder)(str(ROOT))
    found = {Path(each.path) for each in built.recurse_included_files()}
    assert set(VENDORED.iterdir()) <= found


def test_distributions_contain_the_licenses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    paths = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert {VENDORED / each["license_file"] for each in LISTED} <= paths
    assert all(each["license"] in project["license"].split(" AND ") for each in LISTED)
