"""The fault simulator of offers finds planted bugs, and its command reports them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.offers.allocator.cycle.consumption import Consumption
from stretto.offers.allocator.ledger import HoldingLedger
from stretto.offers.allocator.pool.agents import AgentState
from stretto.offers.allocator.pool.contests import Contest, ContestIndex
from stretto.offers.allocator.pool.pool import OfferPool
from stretto.offers.allocator.sorting.nodes import SorterNode
from stretto.offers.allocator.sorting.sorter import ClientSorter
from stretto.offers.allocator.values.resources import Resources
from stretto_lab.chaos.offers.play import OfferPlay
from stretto_lab.chaos.seeds import run_seeds

SEEDS = range(25)


def test_random_pools_break_no_law() -> None:
    assert [each for each in run_seeds(OfferPlay, SEEDS, 40) if each.breach] == []


def take_nothing(self: AgentState, key: Any, resources: Resources) -> None:
    self.held[key] = self.held.get(key, resources) + resources


def free_twice(self: AgentState, key: Any, resources: Resources) -> bool:
    self.available = self.available + resources
    return True


def recount_all(self: AgentState) -> None:
    self.is_overcommitted, self.available = False, self.info.resources


PLANTED: dict[str, tuple[type, str, Any]] = {
    "a grant stays free": (AgentState, "take", take_nothing),
    "a recovery stays held": (AgentState, "give_back", free_twice),
    "a limit is ignored": (Consumption, "left", lambda self, role: {}),
    "a claim leaves the other offers": (
        HoldingLedger,
        "_pass_on",
        lambda self, agent, source, target, what: None,
    ),
    "an heir is not charged": (Contest, "without", lambda self, key: self.holders.remove(key)),
    "a recovery is not counted": (OfferPool, "_discount", lambda self, agent, key, what: None),
    "a new key is not placed": (
        ClientSorter,
        "settle",
        lambda self: self._sort() if self._epoch < 0 else None,
    ),
    "a subtree does not count": (SorterNode, "charge", lambda self, agent, what, sign: None),
    "free capacity ignores holdings": (AgentState, "recount", recount_all),
    "contests are not found": (ContestIndex, "find", lambda self, agent, key, what: None),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, planted = PLANTED[bug]
    monkeypatch.setattr(owner, name, planted)
    found = False
    for seed in SEEDS:
        try:
            found = bool(run_seeds(OfferPlay, range(seed, seed + 1), 40)[0].breach)
        except (AssertionError, KeyError, IndexError, ValueError):
            found = True
        if found:
            break
    assert found


def test_the_command_writes_the_seeds(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["chaos", "--offers", "--seeds", "2", "--steps", "20", "--json", str(out)]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert [each["steps"] for each in json.loads(out.read_text())["seeds"]] == [20, 20]


def test_a_breach_ends_the_command_with_exit_code_nine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SorterNode, "charge", lambda self, agent, what, sign: None)
    words = ["chaos", "--offers", "--seeds", "3", "--steps", "40"]
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, "--offers --seed" in result.output) == (9, True)
