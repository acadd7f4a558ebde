"""The control plane of tests and benches: however it ends, no process remains."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stretto.base.errors import StrettoError, UnknownNameError
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.tools import ALL, build, missing, path_of

pytestmark = pytest.mark.kube

CHILD = """
import json, signal, time
from stretto_lab.control_plane.cluster import ControlPlane
signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent process may ignore it
with ControlPlane() as plane:
    pids = [part.pid for part in plane.parts.values()]
    print(json.dumps([pids, str(plane.kubeconfig)]), flush=True)
    while True:  # a signal between two looks is not missed
        time.sleep(1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_it_leaves_no_process(number: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        pids, kubeconfig = json.loads(child.stdout.readline())
        child.send_signal(number)
        child.wait(60)
    gone = [pid for pid in pids if not _lives(pid)]
    assert gone == pids
    assert number == signal.SIGKILL or not Path(kubeconfig).exists()


def test_a_program_that_exits_at_once_is_reported_with_its_output() -> None:
    plane = ControlPlane(ControlPlaneConfig(flags=("--no-such-flag",)))
    with pytest.raises(StrettoError, match=r"kube-apiserver has exited(.|\n)*no-such-flag"):
        plane.start()
    assert not any(part.is_running for part in plane.parts.values())


def test_a_killed_program_can_be_started_again(control_plane: ControlPlane) -> None:
    before = control_plane["kube-apiserver"].pid
    control_plane.restart("kube-apiserver", kill=True)
    assert control_plane["kube-apiserver"].pid != before
    assert control_plane.is_ready()


def test_programs_that_are_built_are_not_built_again() -> None:
    here = [name for name in ALL if name not in missing()]
    before = {name: path_of(name).stat().st_mtime_ns for name in here}
    build(here)
    assert {name: path_of(name).stat().st_mtime_ns for name in here} == before


def test_an_unknown_program_error_names_the_known_programs() -> None:
    with pytest.raises(UnknownNameError, match="kubectl"):
        build(["kubectls"])


def _lives(pid: int) -> bool:
    """Return whether a process is still there after a moment."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True
