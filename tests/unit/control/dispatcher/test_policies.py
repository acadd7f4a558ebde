import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from stretto.api.types.godel import Queue, QueuePolicy, QueueSpec
from stretto.api.wire.meta import ObjectMeta
from stretto.base import extensions
from stretto.base.errors import InputError, UnknownNameError
from stretto.control.queues.config import queue_config
from stretto.control.queues.orders import RankOrder, first_come
from stretto.control.queues.policies import GROUP, POLICIES, OrderPolicy, policy_named

LIFO = OrderPolicy(lambda: RankOrder(lambda unit: -unit.sequence), short="lifo")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One package with a policy, one that is broken and one that offers another type."""
    entries = [
        EntryPoint("example.com/Lifo", "lifo_package:LIFO", GROUP),
        EntryPoint("example.com/Gone", "no_such_module:X", GROUP),
        EntryPoint("example.com/Odd", "json:dumps", GROUP),
    ]
    monkeypatch.setitem(sys.modules, "lifo_package", SimpleNamespace(LIFO=LIFO))
    monkeypatch.setattr(extensions, "entry_points", lambda group: entries if group == GROUP else [])


def queue(policy: str) -> Queue:
    return Queue(metadata=ObjectMeta(name="a"), spec=QueueSpec(policy=policy))


def test_the_table_has_every_policy_that_code_names() -> None:
    assert set(POLICIES.built_in()) >= {policy.value for policy in QueuePolicy}


def test_a_policy_that_backfills_blocks() -> None:
    assert all(policy.blocking for _, policy in POLICIES.items() if policy.backfills)


def test_short_names_are_unique() -> None:
    short = [policy.short for _, policy in POLICIES.items() if policy.short]
    assert len(short) == len(set(short))


def test_a_policy_has_a_short_name_on_the_command_line() -> None:
    assert [policy_named(word) for word in ("sjf", "Easy")] == ["ShortestFirst", "Easy"]


@pytest.mark.usefixtures("installed")
def test_a_policy_of_a_package_is_found_by_its_name() -> None:
    assert POLICIES.get("example.com/Lifo") is LIFO
    assert queue_config(queue("example.com/Lifo")).policy == "example.com/Lifo"


@pytest.mark.usefixtures("installed")
def test_names_list_built_in_and_installed_policies() -> None:
    assert POLICIES.names()[-1] == "example.com/Odd"
    assert "example.com/Lifo" in POLICIES
    assert "FIFO" in POLICIES


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("example.com/Gone", "expected a loadable entry"),
        ("example.com/Odd", "expected a stretto.control.queues.policies.OrderPolicy"),
    ],
)
def test_a_broken_package_is_named(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        POLICIES.get(name)


@pytest.mark.usefixtures("installed")
def test_an_unknown_policy_suggests_built_in_and_installed_names() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean example\.com/Lifo"):
        POLICIES.get("example.com/Lfo")


def test_an_unknown_policy_of_a_queue_names_the_field_and_the_choices() -> None:
    message = "queue a: spec.policy: got 'Fifo', expected one of FIFO, FifoSkip, Priority"
    with pytest.raises(InputError, match=message):
        queue_config(queue("Fifo"))


def test_first_come_ranks_by_sequence() -> None:
    assert POLICIES.get("FIFO").order().rank is first_come
