"""The replay of a scenario: its steps on a master in virtual time, agents in the recorded order."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.grants import CycleResult
from stretto.sim.offers.master import VirtualMaster, VirtualOffer, VirtualTask
from stretto_lab.conformance.offers.answers import Answerer
from stretto_lab.conformance.offers.order import RecordedOrder
from stretto_lab.conformance.offers.scenario import (
    LogRecord,
    RecordedAgent,
    RecordedConfig,
    RecordedFramework,
    agent_info,
    framework_info,
    quota_of,
    reservation,
    settings_of,
)
from stretto_lab.conformance.offers.texts import text_of

ACCEPTED: Final = 202
"""Status of an operator's call."""


class ScenarioReplay:
    """A scenario in progress, with all its effects."""

    def __init__(
        self,
        config: RecordedConfig,
        agents: list[RecordedAgent],
        frameworks: list[RecordedFramework],
        log: list[tuple[int, LogRecord]],
    ) -> None:
        """Start before the first step."""
        self._agents = {agent.name: agent for agent in agents}
        self._want = dict(log)
        self._recorded: LogRecord = {}
        self._order = RecordedOrder()
        allocator = make_allocator(Rng(0), settings_of(config), self._order)
        #: The master.
        self.master = VirtualMaster(allocator)
        #: Numbers of the frameworks in subscription order, by name.
        self.ids: dict[str, str] = {}
        #: Names of the frameworks by id.
        self.names: dict[str, str] = {}
        self._given = {framework.name: framework for framework in frameworks}
        #: Frameworks by name, including removed ones.
        self.answerers: dict[str, Answerer] = {}
        self._registered: list[str] = []
        self._lives: dict[int, int] = {}
        self._got: dict[int, LogRecord] = {}
        #: Number of ticks so far.
        self.ticks = 0
        #: Number of rescinded offers.
        self.rescinds = 0
        #: Offers by framework.
        self.offers: Counter[str] = Counter()
        #: Framework and role of all offers.
        self.offered: set[tuple[str, str]] = set()
        #: Offers of the first tick: framework and resources.
        self.first: list[tuple[str, Mapping[str, int]]] = []
        #: Number of ticks with at least one offer.
        self.fruitful = 0

    # ------------------------------------------------------------ steps

    def step(self, number: int, step: list[Any]) -> None:
        """Perform a step, and the cycle that it makes due."""
        verb, *arguments = step
        self._recorded = self._want.get(number, {})
        self._order.expect(self._recorded)
        record: LogRecord = {}
        getattr(self, f"_do_{verb}")(record, *arguments)
        if verb != "tick" and self.master.allocator.is_due:
            self._note_cycle(record, self.master.cycle())
        if record:
            self._got[number] = {name: each for name, each in record.items() if each}

    def _do_tick(self, record: LogRecord) -> None:
        self.master.advance(1.0)
        self.ticks += 1
        for task in [t for t in self.master.tasks.values() if self._ends(t) <= self.ticks]:
            self.master.finish(task)
        result = self.master.cycle(batch=True)
        self._note_cycle(record, result)
        self.fruitful += bool(result.offers)
        if self.ticks == 1:
            self.first = [
                (self.names[each.framework], dict(each.resources.quantities))
                for each in result.offers
            ]

    def _ends(self, task: VirtualTask) -> float:
        """Tick before which a task ends."""
        duration = self.answerers[self.names[task.holding.framework]].strategy.duration
        return inf if duration is None else task.started + duration + 1

    def _do_add_agent(self, record: LogRecord, name: str) -> None:
        self.master.allocator.add_agent(agent_info(self._agents[name]))
        self._registered.append(name)

    def _do_remove_agent(self, record: LogRecord, name: str) -> None:
        lost = self.master.remove_agent(name)
        self._registered.remove(name)
        host = self._agents[name].hostname
        message = f"Agent {host} removed: the agent unregistered"
        record["notes"] = [
            [self.names[each.holding.framework], "TASK_LOST", "REASON_AGENT_REMOVED", message]
            for each in sorted(lost, key=lambda task: task.holding.framework)
        ]

    def _do_deactivate(self, record: LogRecord, names: list[str] | None = None) -> None:
        for name in names or self._registered:
            self.master.allocator.set_agent_active(name, active=False)

    def _do_reactivate(self, record: LogRecord, names: list[str] | None = None) -> None:
        for name in names or self._registered:
            self.master.allocator.set_agent_active(name, active=True)

    def _do_add_framework(self, record: LogRecord, name: str) -> None:
        given = self._given[name]
        info = framework_info(given, len(self.ids))
        self.ids[name], self.names[info.id] = info.id, name
        self.answerers[name] = Answerer(self.master, info.id, given)
        self.master.add_framework(info, given.suppressed)

    def _do_teardown(self, record: LogRecord, name: str) -> None:
        self.master.teardown(self.ids[name])

    def _do_suppress(self, record: LogRecord, name: str, roles: list[str]) -> None:
        self.master.allocator.suppress(self.ids[name], roles)

    def _do_revive(self, record: LogRecord, name: str, roles: list[str]) -> None:
        self.master.allocator.revive(self.ids[name], roles)

    def _do_finish(self, record: LogRecord, name: str, count: int) -> None:
        framework = self.ids[name]
        running = [t for t in self.master.tasks.values() if t.holding.framework == framework]
        for task in running[:count]:
            self.master.finish(task)

    def _do_weights(self, record: LogRecord, weights: dict[str, float]) -> None:
        self._note_rescinds(record, self.master.set_weights(weights))

    def _do_quota(self, record: LogRecord, configs: list[dict[str, Any]]) -> None:
        quotas = {config["role"]: quota_of(config) for config in configs}
        self._note_rescinds(record, self.master.set_quotas(quotas, self._rescind_order))

    def _rescind_order(self, offer: VirtualOffer) -> tuple[int, int]:
        """Sort key of offers: those that the recorded master rescinded first, small ones first.

        The order of the recorded master is that of a hash table; it stops as soon as the rest fits.
        """
        holding = offer.holding
        named = [self.names[holding.framework], holding.agent, holding.role]
        is_recorded = named in self._recorded.get("rescinds", [])
        return int(not is_recorded), dict(offer.resources.free).get("cpus", 0)

    def _do_reserve(
        self, record: LogRecord, agent: str, role: str, amounts: dict[str, float]
    ) -> None:
        before, after = reservation(role, amounts)
        self.master.allocator.convert_available(agent, before, after)
        record["notes"] = [["reserve", ACCEPTED]]

    def _do_answer(
        self, record: LogRecord, name: str | None = None, mode: str | None = None
    ) -> None:
        answers = record["answers"] = []
        for each in [name] if name is not None else list(self.ids):
            answerer = self.answerers[each]
            for offer in answerer.outstanding(self._registered):
                said = answerer.answer(offer, mode)
                if said is None:
                    continue
                holding = offer.holding
                answers.append([each, holding.agent, holding.role, said])

    # ------------------------------------------------------------ records

    def _note_rescinds(self, record: LogRecord, offers: list[Any]) -> None:
        self.rescinds += len(offers)
        record["rescinds"] = sorted(
            [self.names[each.holding.framework], each.holding.agent, each.holding.role]
            for each in offers
        )

    def _note_cycle(self, record: LogRecord, result: CycleResult) -> None:
        for offer in result.offers:
            name = self.names[offer.framework]
            self.offers[name] += 1
            self.offered.add((name, offer.role))
        record["offers"] = sorted(
            [self.names[each.framework], each.agent, each.role, text_of(each.resources)]
            for each in result.offers
        )
        if len(result.grants) > 1:
            record["grants"] = [
                f"{grant.stage.value} {grant.agent} {grant.role} {self.names[grant.framework]}"
                for grant in result.grants
            ]

    def differences(self) -> Iterator[tuple[int, str, Any, Any]]:
        """Step, member, recorded value and own value of every differing record."""
        for number in sorted(self._want.keys() | self._got.keys()):
            want, got = self._want.get(number, {}), self._got.get(number, {})
            for name in sorted(want.keys() | got.keys()):
                if want.get(name) != got.get(name):
                    yield number, name, want.get(name), got.get(name)
