"""Arrivals of the one-pool scenario: one day of virtual machines and days of training jobs.

Real arrivals, sizes and run times, counted from the Azure VM trace of 2017 and the Philly traces by
``scripts/make_one_pool_figures.py``.
"""

from typing import Final

import msgspec

from stretto.inputs.neutral.bundled import read_bundled

FIGURES_FILE: Final = "data/one_pool.json"
"""The data file of the package."""
BIN_S: Final = 300
"""Seconds of one bin of arrivals."""
DAY_S: Final = 86_400


class VmDay(msgspec.Struct, frozen=True):
    """A day of virtual machines."""

    #: (virtual cores, MiB) of each size.
    shapes: tuple[tuple[int, int], ...]
    #: Seconds of each lifetime: the middle of its bin.
    lifetimes_s: tuple[float, ...]
    #: By bin of five minutes: size, lifetime and count, repeated.
    bins: tuple[tuple[int, ...], ...]


class OnePoolArrivals(msgspec.Struct, frozen=True):
    """The data file."""

    #: Sources of the figures.
    source: str
    #: Licenses of the sources.
    licence: str
    #: The virtual machines.
    vms: VmDay
    #: By cluster: days, the busiest first, with (second of the day, GPUs, seconds) of each job.
    jobs: dict[str, tuple[tuple[tuple[int, int, int], ...], ...]]


def load_arrivals() -> OnePoolArrivals:
    """The figures that ship with the package.

    Raises:
        InputError: the file is damaged.
    """
    return read_bundled(FIGURES_FILE, OnePoolArrivals)
