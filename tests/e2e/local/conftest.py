"""A running ``stretto up``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto_lab.control_plane.parts import ServerProcess
from tests.e2e.daemon import until


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster with three nodes."""
    folder = tmp_path_factory.mktemp("up")
    path, log = folder / "kubeconfig", folder / "up.log"
    words = ["up", "--nodes", "3", "--like", "8cpu-32gib", "--tier", "numpy"]
    words += ["--kubeconfig", str(path)]
    part = ServerProcess("stretto up", [sys.executable, "-m", "stretto.cli.main", *words], log)
    part.start()
    until(path.exists, log.read_text)
    yield path
    part.stop()
