"""The order of the agents in a recorded cycle."""

from math import inf

from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.subjects.grants import CycleStage
from stretto_lab.conformance.offers.scenario import LogRecord


class RecordedOrder:
    """Agents in the order of the recorded grants; agents without a grant are last.

    A master shuffles the agents once for each stage of a cycle. Limits and headroom only shrink
    during a cycle, so an agent without a grant has none in the last place either.
    """

    def __init__(self) -> None:
        """Start without a recorded cycle."""
        self._places: dict[tuple[int, str], int] = {}

    def expect(self, record: LogRecord) -> None:
        """Set the record of the next cycle."""
        grants = [grant.split()[:2] for grant in record.get("grants", ())]
        if not grants:
            stages = [stage.value for stage in CycleStage]
            grants = [[str(n), offer[1]] for n in stages for offer in record.get("offers", ())]
        self._places = {}
        for place, (stage, agent) in enumerate(grants):
            self._places.setdefault((int(stage), agent), place)

    def arrange(self, stage: CycleStage, agents: list[AgentState]) -> list[AgentState]:
        """The agents in the recorded order of a stage."""
        places = self._places
        return sorted(agents, key=lambda each: places.get((stage.value, each.info.id), inf))
