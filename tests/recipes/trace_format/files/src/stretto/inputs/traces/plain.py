"""The plain format: one pod a row, with CPU, memory, start and run time."""

from pathlib import Path

import msgspec

from stretto.inputs.neutral.fleet import FleetPod
from stretto.inputs.neutral.tables import CsvLayout, read_table


class PlainPods(msgspec.Struct, frozen=True, kw_only=True):
    """A workload in plain format."""

    #: The CSV file of pods, relative to the scenario.
    list: str


def load_plain(path: Path, models: set[str] | None = None) -> tuple[FleetPod, ...]:
    """The pods of a list, in its order."""
    table = read_table(path, CsvLayout(("name", "cpu_milli", "memory_mib", "start_s", "seconds")))
    rows = zip(
        table.names("name"),
        table.integers("cpu_milli", 1, 10**6),
        table.integers("memory_mib", 1, 10**6),
        table.decimals("start_s", 0, 10**9),
        table.decimals("seconds", 0, 10**9),
        strict=True,
    )
    return tuple(
        FleetPod(name, cpu, memory, arrival_s=start, duration_s=seconds)
        for name, cpu, memory, start, seconds in rows
    )
