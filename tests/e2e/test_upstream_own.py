"""Kubernetes' own tests of the API, of workloads and of kubectl, run against ``stretto up``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stretto_lab.control_plane.parts import ServerProcess
from stretto_lab.control_plane.results import RECORD, read_record
from stretto_lab.control_plane.selection import ALONE, GROUPS, group_of
from stretto_lab.control_plane.tools import build
from stretto_lab.control_plane.upstream import SUITE, WITHIN, run_tests
from tests.e2e.daemon import until

pytestmark = [pytest.mark.kube, pytest.mark.slow, pytest.mark.timeout(WITHIN + 600)]

PASSED: Final = read_record(Path(__file__).parents[2] / RECORD).passed()
PROCESSES: Final = 3


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "kubeconfig"
    words = ["up", "--nodes", "3", "--like", "8cpu-32gib", "--kubeconfig", str(path)]
    command = [sys.executable, "-m", "stretto.cli.main", *words]
    part = ServerProcess("stretto up", command, tmp_path / "up.log")
    part.start()
    until(path.exists, (tmp_path / "up.log").read_text)
    yield path
    part.stop()


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("group", GROUPS)
def test_the_recorded_tests_pass_again(
    kubeconfig: Path, tmp_path: Path, group: str, alone: bool
) -> None:
    build((SUITE, "kubectl"))
    mine = [each for each in PASSED if group_of(each) == group]
    names = [each for each in mine if bool(ALONE.search(each)) == alone]
    found = run_tests(kubeconfig, tmp_path, names, 1 if alone else PROCESSES)
    states = {each.title: each.state for each in found}
    assert {each: states.get(each) for each in names if states.get(each) != "passed"} == {}
