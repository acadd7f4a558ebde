"""Pressure stall information: the share of time in which tasks waited for a resource."""

from pathlib import Path

from stretto.agent.files import read_text


def read_pressure(path: Path) -> float | None:
    """Percent of the last minute in which some task waited; ``None`` if the kernel has no value.

    Args:
        path: a file such as ``/proc/pressure/cpu``.
    """
    for line in (read_text(path) or "").splitlines():
        kind, *pairs = line.split()
        fields = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if kind == "some":
            try:
                return float(fields["avg60"])
            except (KeyError, ValueError):
                return None
    return None
