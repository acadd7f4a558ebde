"""Our daemons write what Gödel's daemons wrote, or the page documents the difference."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contract.wire_effects import Scenario, comparable, recorded, scenarios
from tests.contract.wire_world import ROLES, Replay

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "godel_wire" / "traces.jsonl.gz"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "parity" / "godel.md"
ROW = re.compile(r"^\| (\d\d\w+) \| .+? \| (equal|deviates: [\w, ]+) \| (.*?) ?\|$", re.MULTILINE)
NAMES = {"scheduler-a": "shard", "scheduler-b": "shard"}


@pytest.fixture(scope="module")
def recordings() -> Mapping[str, Scenario]:
    """The recorded scenarios by name."""
    if not DATA.exists():
        pytest.skip(f"no recordings of Gödel's daemons: {DATA} is not there")
    return {each.name: each for each in scenarios(DATA)}


def rows() -> dict[str, tuple[str, str]]:
    """Verdict and reason of each scenario, as the page has them."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {name: (verdict, reason) for name, verdict, reason in found}


@pytest.mark.parametrize("name", sorted(rows()))
def test_the_page_compares_the_writes_of_stretto(
    recordings: Mapping[str, Scenario], name: str
) -> None:
    assert verdict(recordings[name]) == rows()[name][0]


def test_the_page_has_every_scenario(recordings: Mapping[str, Scenario]) -> None:
    assert sorted(rows()) == sorted(recordings)


def test_every_deviation_has_a_reason_and_only_they() -> None:
    odd = {name for name, (said, why) in rows().items() if (said == "equal") is bool(why)}
    assert odd == set()


def test_a_daemon_that_does_nothing_is_not_equal(recordings: Mapping[str, Scenario]) -> None:
    gang = recordings["04a"]
    for role in ("dispatcher", "scheduler-a", "binder"):
        assert comparable(recorded(gang, role), gang, role) != comparable({}, gang, role)


def verdict(scenario: Scenario) -> str:
    """Comparison of the roles with the recorded ones."""
    odd = [role for role in ROLES if role in scenario.config and not is_equal(scenario, role)]
    named = dict.fromkeys(NAMES.get(role, role) for role in odd)
    return f"deviates: {', '.join(named)}" if odd else "equal"


def is_equal(scenario: Scenario, role: str) -> bool:
    """Return whether one of our roles did what the recorded one did."""
    ours = Replay(scenario, role).run()
    return comparable(ours, scenario, role) == comparable(recorded(scenario, role), scenario, role)
