"""The order in which the recorded master visited agents.

Mesos shuffles agents; the ids of the offers of a step reveal the order. Offers are numbered newest
grant first, so the agents of the highest numbers were visited first.
"""

import re
from collections.abc import Iterable
from typing import Final

from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.subjects.grants import CycleStage
from stretto_lab.conformance.mesos.matching import MesosBindings
from stretto_lab.conformance.mesos.sessions import WireRecord

_NUMBER: Final = re.compile(r"-O(\d+)$")


class VisitOrder:
    """Visits agents in the recorded order, and then the others."""

    def __init__(self) -> None:
        self._expected: list[str] = []

    def expect(self, record: WireRecord, bound: MesosBindings) -> None:
        """Read the order from the events of a record."""
        offers = [
            (_number(offer["id"]["value"], place), bound.fill(offer["agent_id"]["value"]))
            for place, offer in enumerate(_offers(record))
        ]
        self._expected = [agent for _, agent in sorted(offers, reverse=True)]

    def arrange(self, stage: CycleStage, agents: list[AgentState]) -> list[AgentState]:
        """The agents of a stage in this order."""
        del stage
        places = {agent: place for place, agent in reversed(list(enumerate(self._expected)))}
        return sorted(agents, key=lambda agent: places.get(agent.info.id, len(places)))


def _offers(record: WireRecord) -> Iterable[dict[str, dict[str, str]]]:
    for events in record.events.values():
        items = events if isinstance(events, list) else events["${UNORDERED}"]
        for event in items:
            shown = event.get("json", event)
            yield from shown.get("offers", {}).get("offers", ())


def _number(offer_id: str, place: int) -> int:
    found = _NUMBER.search(offer_id)
    return int(found.group(1)) if found else place
