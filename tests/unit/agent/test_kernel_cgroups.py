"""Limits in cgroups of the kernel, on machines where cgroup v2 is writable."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.agent.limits.enforcer import EnforceMode, Enforcer
from stretto.agent.limits.files import LimitChange, LimitFiles, LimitKind
from stretto.agent.tasks.containers.cgroups import Cgroups, LimitMode
from stretto.agent.usage.cgroups import pod_cgroups, read_cgroup

KERNEL = Path("/sys/fs/cgroup")
pytestmark = pytest.mark.skipif(
    not os.access(KERNEL / "cgroup.subtree_control", os.W_OK), reason="needs a writable cgroup v2"
)
TREE = "sys/fs/cgroup/kubepods/besteffort"
UID = "aaaaaaaa-1111"
POD = f"{TREE}/pod{UID}"


def enabled(cgroup: Path) -> Path:
    """A cgroup whose children have the controllers of limits."""
    cgroup.mkdir(exist_ok=True)
    (cgroup / "cgroup.subtree_control").write_text("+cpu +memory +cpuset")
    return cgroup


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The root of a machine with one reclaimed pod of one process, in a tree of its own."""
    base = KERNEL / f"stretto-test-{os.getpid()}"
    try:
        for cgroup in (KERNEL, base, base / "kubepods", base / "kubepods/besteffort"):
            enabled(cgroup)
    except OSError as error:
        pytest.skip(f"no writable cgroup v2: {error}")
    (tmp_path / "sys/fs").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup").symlink_to(base)
    (tmp_path / POD).mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        (tmp_path / POD / "cgroup.procs").write_text(str(process.pid))
        yield tmp_path
        process.kill()
    for folder, _, _ in os.walk(base, topdown=False):
        Path(folder).rmdir()


CPUS = LimitChange(TREE, LimitKind.CPUS, "0", "test")
QUOTA = LimitChange(TREE, LimitKind.QUOTA, "50000 100000", "test")
MEMORY = LimitChange(POD, LimitKind.MEMORY, str(64 << 20), "test")


def content(root: Path, change: LimitChange) -> str:
    """The content of the file of a limit."""
    return (root / change.cgroup / change.kind.value).read_text().strip()


@pytest.mark.parametrize("change", [CPUS, QUOTA, MEMORY])
def test_the_kernel_takes_a_limit_in_the_form_in_which_it_shows_it(
    root: Path, change: LimitChange
) -> None:
    files = LimitFiles(root, root / "run")
    assert files.apply(change)
    assert content(root, change) == change.value
    assert not files.apply(change)


@pytest.mark.parametrize("change", [QUOTA, MEMORY])
def test_a_limit_is_released(root: Path, change: LimitChange) -> None:
    files = LimitFiles(root, root / "run")
    files.apply(change)
    assert (files.release_all(), files.held) == (1, ())
    assert content(root, change) == change.kind.released


def test_a_tree_with_processes_has_all_cpus_again(root: Path) -> None:
    files = LimitFiles(root, root / "run")
    files.apply(CPUS)
    assert (files.release_all(), files.held) == (1, ())
    everything = (root / TREE).parent / "cpuset.cpus.effective"
    assert (root / TREE / "cpuset.cpus.effective").read_text() == everything.read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
from stretto.agent.limits.files import LimitChange, LimitFiles, LimitKind
files = LimitFiles(Path(sys.argv[1]), Path(sys.argv[1]) / "run")
files.apply(LimitChange(sys.argv[2], LimitKind.QUOTA, "50000 100000", "test"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_limit_remains_after_an_agent_that_was_killed(root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), TREE], check=False)
    assert (done.returncode, content(root, QUOTA)) == (-signal.SIGKILL, QUOTA.value)
    Enforcer(root, EnforceMode.OFF, state=root / "run")
    assert content(root, QUOTA) == QUOTA.kind.released


def test_a_pod_is_measured(root: Path) -> None:
    reading = read_cgroup(pod_cgroups(root)[UID])
    assert reading is not None
    assert reading.cpu_us >= 0


def test_a_container_of_a_task_is_limited_and_removed_with_its_processes(root: Path) -> None:
    cgroups = Cgroups(root, LimitMode.CAP)
    cgroup = cgroups.create("c", [], {"cpus": 0.5, "mem": 64})
    assert (cgroup / "cpu.max").read_text() == "50000 100000\n"
    with subprocess.Popen(["sleep", "60"]) as process:
        (cgroup / "cgroup.procs").write_text(str(process.pid))
        cgroups.remove("c")
        assert process.wait() == -signal.SIGKILL
    assert cgroups.remove("c")
