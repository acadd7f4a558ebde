"""Pressure stall information: the share of time in which tasks waited for a resource."""

from pathlib import Path

import msgspec

from stretto.agent.files import read_text


class Pressure(msgspec.Struct, frozen=True):
    """Pressure of one resource."""

    #: Percent of the last ten seconds in which some task waited.
    some_10s: float = 0.0
    #: Percent of the last minute in which some task waited.
    some_60s: float = 0.0
    #: Percent of the last ten seconds in which all tasks waited.
    full_10s: float = 0.0
    #: Microseconds in which some task has waited since the start.
    some_total_us: int = 0


def read_pressure(path: Path) -> Pressure | None:
    """The pressure in a file such as ``cpu.pressure``; ``None`` if the kernel has none."""
    text = read_text(path)
    if not text:
        return None
    lines = {}
    for line in text.splitlines():
        kind, *pairs = line.split()
        lines[kind] = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    some, full = lines.get("some", {}), lines.get("full", {})
    try:
        return Pressure(
            float(some.get("avg10", 0)),
            float(some.get("avg60", 0)),
            float(full.get("avg10", 0)),
            int(some.get("total", 0)),
        )
    except ValueError:
        return None
