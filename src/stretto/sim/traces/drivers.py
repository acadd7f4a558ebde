"""Virtual-time drivers of trace formats: their inputs and results.

``TraceFormat.driver`` names a driver as ``module:function``, because formats belong to ``inputs``,
which does not import ``sim``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from stretto.inputs.neutral.fleet import FleetNode
from stretto.inputs.traces.formats import TraceFormat
from stretto.sim.engine import OnArrivals, UnfitPolicy
from stretto.sim.usage import SimulationResult


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
    #: Options of ``simulate`` that the user set, by name.
    options: Mapping[str, Any]
    #: Seed of every draw.
    seed: int

    @property
    def keys(self) -> Any:
        """The keys of the format, from the options of the same names."""
        return self.format.keys_for(self.path, **self.options)

    def items(self) -> tuple[Any, ...]:
        """The items of the work list."""
        return self.format.items(self.path, self.models or None, self.keys)

    @property
    def unfit(self) -> UnfitPolicy:
        """Treatment of pods that do not fit; by default they stay pending."""
        return UnfitPolicy(self.options.get("on_unschedulable", UnfitPolicy.WAIT.value))


class PreparedTrace(NamedTuple):
    """A simulation that is ready to start."""

    #: Number of arrivals, for the progress bar.
    total: int
    #: Starts the simulation; the argument receives the number of arrivals so far.
    start: Callable[[OnArrivals], SimulationResult[Any]]


Driver = Callable[[TraceRun], PreparedTrace]
"""Function that reads a trace and prepares its simulation."""


def driver_of(found: TraceFormat) -> Driver:
    """The driver of a format."""
    module, _, function = found.driver.partition(":")
    return cast("Driver", getattr(import_module(module), function))
