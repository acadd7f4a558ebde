"""Virtual-time drivers of trace formats: what they receive and what they return.

``TraceFormat.driver`` names a driver as ``module:function``: the format belongs to ``inputs``,
which may not import ``sim``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.formats import TraceFormat
from stretto.sim.engine import Arrivals, UnfitPolicy
from stretto.sim.result import SimulationResult


class TraceRun(NamedTuple):
    """One simulation of a trace."""

    #: The format.
    format: TraceFormat
    #: The work list.
    path: Path
    #: The nodes; empty for a format that describes its own.
    hosts: tuple[FleetNode, ...]
    #: GPU models of the whole node list.
    models: set[str]
    #: Options of ``simulate`` that were given, by name.
    options: Mapping[str, Any]
    #: Seed of every draw.
    seed: int

    @property
    def keys(self) -> Any:
        """The keys of the format, from the options of the same names."""
        return self.format.keys_for(self.path, **self.options)

    @property
    def unfit(self) -> UnfitPolicy:
        """What happens to pods that do not fit; by default they wait."""
        return UnfitPolicy(self.options.get("on_unschedulable", UnfitPolicy.WAIT.value))


class PreparedRun(NamedTuple):
    """A simulation that is ready to start."""

    #: Number of arrivals, for the progress bar.
    total: int
    #: Runs it; the argument is called with the number of arrivals so far.
    start: Callable[[Arrivals], SimulationResult[Any]]


Driver = Callable[[TraceRun], PreparedRun]
"""Reads a trace and prepares its simulation."""


def driver_of(found: TraceFormat) -> Driver:
    """The driver of a format."""
    module, _, function = found.driver.partition(":")
    return cast("Driver", getattr(import_module(module), function))
