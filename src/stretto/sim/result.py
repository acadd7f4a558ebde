"""What a simulation hands back: its report, and curves of how full the world was."""

from typing import Generic, NamedTuple, TypeVar

from stretto.sim.plots import PlotLine

Report = TypeVar("Report")


class SimulationResult(NamedTuple, Generic[Report]):
    """One simulation that has ended."""

    #: The figures.
    report: Report
    #: Use in percent over hours since the first arrival.
    lines: tuple[PlotLine, ...]
