"""``stretto up`` as a process of its own, for benches that use it with kubectl."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from stretto_lab.control_plane.tools import path_of


class LocalServer(NamedTuple):
    """A running ``stretto up``."""

    #: The process.
    process: subprocess.Popen[bytes]
    #: The kubeconfig that it has written.
    kubeconfig: Path
    #: Seconds from its start until ``/readyz`` answered.
    ready_s: float


def kubectl(kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run kubectl."""
    command = [str(path_of("kubectl")), "--kubeconfig", str(kubeconfig), *words]
    environment = {**os.environ, "HOME": str(kubeconfig.parent)}
    return subprocess.run(command, capture_output=True, check=False, env=environment)


@contextmanager
def local_server(folder: Path, *options: str, log: Path | None = None) -> Iterator[LocalServer]:
    """Run ``stretto up`` with a kubeconfig in a folder, from readiness to the end of the block.

    Args:
        folder: where the kubeconfig is written.
        options: further options.
        log: where its output goes; ``None``: nowhere.
    """
    kubeconfig = folder / "config"
    command = [str(Path(sys.executable).parent / "stretto"), "up", "--kubeconfig", str(kubeconfig)]
    start = time.perf_counter()
    with (log or Path(os.devnull)).open("wb") as target:
        process = subprocess.Popen([*command, *options], stdout=target, stderr=target)
    try:
        while not kubeconfig.exists():
            if process.poll() is not None:
                raise SystemExit(f"stretto up ended with exit status {process.returncode}")
            time.sleep(0.01)
        ready = time.perf_counter() - start
        while kubectl(kubeconfig, "get", "--raw", "/readyz").returncode:
            ready = time.perf_counter() - start
        yield LocalServer(process, kubeconfig, ready)
    finally:
        process.terminate()
        process.wait()
