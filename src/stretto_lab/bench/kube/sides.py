"""The sides: each scheduler as a separate process, and its resource usage."""

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

from stretto_lab.bench.kube.options import QUIET, STRETTO
from stretto_lab.bench.kube.shapes import SCHEDULER
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.parts import ServerProcess

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_KIB: Final = 1024
_MB: Final = 1e6


class ProcessUsage(NamedTuple):
    """Resource usage of a process since its start; ``None`` if the system does not report it."""

    #: CPU seconds, user and system.
    cpu_s: float | None
    #: Peak resident memory in MB.
    rss_mb: float | None


def side(name: str, plane: ControlPlane, profile: str, log: Path) -> ServerProcess:
    """A scheduler that is not started; all run as the administrator and without a lease.

    kube-scheduler and Stretto write ``Scheduled`` events; the side ``QUIET`` writes none.
    """
    if name not in (STRETTO, QUIET):
        return plane[name]
    command = [sys.executable, "-m", "stretto.cli.main", "scheduler"]
    command += ["--kubeconfig", str(plane.kubeconfig), "--scheduler-name", SCHEDULER]
    command += ["--no-leader-elect", "--bind-address", "", "--profile", profile]
    if name == QUIET:
        command += ["--no-scheduled-events"]
    return ServerProcess("stretto scheduler", command, log)


def usage_of(pid: int) -> ProcessUsage:
    """Resource usage of a process, from ``/proc``."""
    folder = Path("/proc") / str(pid)
    try:
        behind_name = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        status = (folder / "status").read_text(encoding="utf-8")
    except OSError:
        return ProcessUsage(None, None)
    ticks = int(behind_name[11]) + int(behind_name[12])
    return ProcessUsage(ticks / _TICKS, _peak(status))


def _peak(status: str) -> float | None:
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * _KIB / _MB
    return None
