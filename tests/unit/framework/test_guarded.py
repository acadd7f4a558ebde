"""External rules: any failure names the rule, and the scheduler continues."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.registry import Registry
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.framework.contract.labels import label_domains, label_numbers
from stretto.framework.contract.rule import (
    Fail,
    FilterRule,
    Refusal,
    Restrict,
    Rule,
    Scope,
    ScoreRule,
)
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.guard import GuardedRule
from stretto.framework.profile.load import known_rules, rules_of_file
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod

Answer = Callable[..., Any]


def scoring(answer: Answer, scope: Scope = Scope.SLOT) -> type[Rule]:
    class Own(ScoreRule):
        NAME: ClassVar[str] = "Own"
        SCOPE: ClassVar[Scope] = scope

        def score(self, pod: Any, view: Any, slots: Any) -> Any:
            return answer(pod, view, slots)

    return Own


def filtering(answer: Answer, scope: Scope = Scope.SLOT, **more: Any) -> type[Rule]:
    class Own(FilterRule):
        NAME: ClassVar[str] = "Own"
        SCOPE: ClassVar[Scope] = scope

        def filter(self, pod: Any, view: Any, slots: Any) -> Any:
            return answer(pod, view, slots)

    for name, value in more.items():
        setattr(Own, name, value)
    return Own


def harness_with(rule: type[Rule]) -> Harness:
    point = "score" if issubclass(rule, ScoreRule) else "filter"
    table = Registry("plugin", {**dict(RULES.items()), rule.NAME: rule})
    enabled = {"enabled": [{"name": rule.NAME, **({"weight": 9} if point == "score" else {})}]}
    profile = load_profile({"profiles": [{"plugins": {point: enabled}}]}, table)
    nodes = [make_node("n1", labels={"tariff": "7"}), make_node("n2", labels={"tariff": "3"})]
    harness = Harness(nodes, profile=profile, config={"tier": "numpy"})
    harness.submit(make_pod("p"))
    harness.settle()
    return harness


def last_fault(harness: Harness) -> str:
    (rule,) = harness.plane.config.profile.outside
    return rule.health.last_fault


def boom(*_: Any) -> Any:
    raise RuntimeError("no such tariff")


def leaves(*_: Any) -> Any:
    raise SystemExit(3)


def writes(_: Any, view: Any, slots: Any) -> Any:
    view.columns.free[0, slots] = 10**6
    return np.zeros(len(slots), np.int32)


def writes_ledger(_: Any, view: Any, slots: Any) -> Any:
    view.columns.ledger.used[:] = 0
    return np.zeros(len(slots), np.int32)


def writes_capacity(_: Any, view: Any, slots: Any) -> Any:
    view.columns.ledger.alloc[:] = 0
    return np.zeros(len(slots), np.int32)


def writes_slots(_: Any, view: Any, slots: Any) -> Any:
    slots += 1
    return np.zeros(len(slots), np.int32)


WRONG: dict[str, tuple[Answer, str]] = {
    "raises": (boom, "raised RuntimeError: no such tariff"),
    "leaves": (leaves, "raised SystemExit: 3"),
    "shape": (lambda _, __, s: np.zeros(len(s) + 1, np.int32), "expected int32["),
    "dtype": (lambda _, __, s: np.array(["x"] * len(s)), "expected int32["),
    "nothing": (lambda *_: "", "expected int32["),
    "nan": (lambda _, __, s: np.full(len(s), np.nan), "answered NaN or infinity for"),
    "bounds": (lambda _, __, s: np.full(len(s), 250), "scored from 250 to 250, expected 0 to 100"),
    "columns": (writes, "wrote to what it may only read"),
    "ledger": (writes_ledger, "wrote to what it may only read"),
    "capacity": (writes_capacity, "wrote to what it may only read"),
    "slots": (writes_slots, "wrote to what it may only read"),
    "ragged": (lambda *_: [[1], [1, 2]], "returned no array"),
}


@pytest.mark.parametrize("scope", Scope, ids=lambda scope: scope.value)
@pytest.mark.parametrize("what", WRONG)
def test_a_score_that_goes_wrong_is_named_and_counts_for_nothing(what: str, scope: Scope) -> None:
    answer, words = WRONG[what]
    if scope is Scope.STATIC and what in ("columns", "ledger"):
        words = "which claims change"  # refused before it can write
    harness = harness_with(scoring(answer, scope))
    assert harness.node_of("p") in ("n1", "n2")
    assert words in last_fault(harness)
    assert harness.breaches() == []


@pytest.mark.parametrize("scope", Scope, ids=lambda scope: scope.value)
def test_a_filter_that_goes_wrong_refuses_and_names_the_failure_in_the_reason(scope: Scope) -> None:
    harness = harness_with(filtering(boom, scope))
    plane = harness.plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "p")
    assert harness.node_of("p") == ""
    assert said.nodes is not None
    assert "rejected by rule Own, which raised RuntimeError" in said.nodes.message


def test_what_was_read_only_may_be_written_afterwards() -> None:
    harness = harness_with(scoring(lambda _, __, s: np.zeros(len(s), np.int32)))
    columns = harness.plane.shards[0].default.runtime.view.columns  # type: ignore[attr-defined]
    assert columns.free.flags.writeable
    assert columns.ledger.used.flags.writeable


def test_a_float_score_is_rounded_down() -> None:
    tariffs = scoring(lambda _, view, s: 100.9 - label_numbers(view, "tariff", s, 99))
    harness = harness_with(tariffs)
    assert harness.node_of("p") == "n2"
    assert last_fault(harness) == ""


def test_a_filter_without_refusals_of_its_own_gives_its_one_reason() -> None:
    cheap = filtering(
        lambda _, view, s: label_numbers(view, "tariff", s) < 1, REASON="node(s) dear"
    )
    plane = harness_with(cheap).plane
    said = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "p")
    assert said.nodes is not None
    assert said.nodes.message.startswith("0/2 nodes are available: 2 node(s) dear.")


@pytest.mark.parametrize(
    "said",
    [["no refusal"], [Refusal("x", np.ones(99, np.bool_))], [Refusal("x", np.zeros(2, bool))]],
)
def test_refusals_that_differ_from_the_filter_are_replaced(said: list[Any]) -> None:
    nowhere = filtering(lambda _, __, s: np.zeros(len(s), np.bool_), refusals=lambda *_: said)
    harness = harness_with(nowhere)
    plane = harness.plane
    explained = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), "p")
    assert explained.nodes is not None
    assert "2 node(s) rejected by rule Own." in explained.nodes.message


@pytest.mark.parametrize(
    ("name", "answer"), [("prepare", boom), ("signature", boom), ("signature", lambda *_: []),
                         ("prepare", lambda *_: 7), ("cures", boom)]
)  # fmt: skip
def test_hooks_that_fail_stop_nothing(name: str, answer: Answer) -> None:
    rule = filtering(lambda _, __, s: np.ones(len(s), np.bool_), **{name: answer})
    assert harness_with(rule).node_of("p") != ""


@pytest.mark.parametrize("answer", [Fail("closed"), Restrict(np.array([0])), None])
def test_the_early_result_of_a_rule_passes_the_guard(answer: Any) -> None:
    (made,) = [filtering(lambda *_: None, prepare=lambda *_: answer)({})]
    from stretto.framework.profile.guard import guard

    view = harness_with(scoring(lambda _, __, s: s * 0)).plane.shards[0].default.runtime.view  # type: ignore[attr-defined]
    assert guard(made).prepare(None, view) is answer  # type: ignore[arg-type]


def test_a_rule_that_takes_too_long_is_reported_with_its_budget() -> None:
    clock = ManualClock()

    def slow(_: Any, __: Any, slots: Any) -> Any:
        clock.advance(0.5)
        return np.zeros(len(slots), np.int32)

    from stretto.framework.profile.guard import guard

    guarded = guard(scoring(slow)({}))
    guarded.use_clock(clock)
    view = harness_with(scoring(lambda _, __, s: s * 0)).plane.shards[0].default.runtime.view  # type: ignore[attr-defined]
    guarded.score(None, view, np.arange(10))  # type: ignore[arg-type]
    assert guarded.health.complaints() == [
        "rule Own was too slow once, at worst it took 500.0 ms for 10 slots, its budget is 5.0 ms"
    ]
    assert (guarded.health.calls, guarded.health.slots, guarded.health.seconds) == (1, 10, 0.5)


def test_rules_of_stretto_have_no_guard() -> None:
    profile = load_profile("default")
    assert profile.outside == ()
    assert not any(isinstance(rule, GuardedRule) for rule in profile.filters)


# ---------------------------------------------------------------- files

GOOD = """
import numpy as np
from stretto.framework.contract.rule import Scope, ScoreRule

class Helper:
    pass

class Flat(ScoreRule):
    NAME, SCOPE = "Flat", Scope.STATIC
    def score(self, pod, view, slots):
        return np.full(len(slots), 50, np.int32)
"""


def test_a_file_offers_the_rules_that_it_defines_itself(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    assert [rule.NAME for rule in rules_of_file(tmp_path / "mine.py")] == ["Flat"]
    assert "Flat" in known_rules([tmp_path / "mine.py"])


BAD: dict[str, tuple[str, str]] = {
    "syntax": ("def (:", "SyntaxError"),
    "raises": ("x = 1\nraise ValueError('no tariff table')", "no tariff table (line 2)"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "leaves": ("raise BaseException('away')", "BaseException: away"),
    "empty": ("x = 1", "a class that subclasses FilterRule or ScoreRule"),
    "name": (GOOD.replace('"Flat"', '""'), "class Flat: NAME: got ''"),
    "scope": (GOOD.replace("Scope.STATIC", "'static'"), "class Flat: SCOPE: got 'static'"),
    "abstract": (GOOD.replace("def score", "def scores"), "class Flat: got 'no score'"),
    "ours": (GOOD.replace('"Flat"', '"NodePorts"'), "a rule with a name of its own"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_cannot_be_used_is_refused_with_its_name(what: str, tmp_path: Path) -> None:
    content, words = BAD[what]
    (tmp_path / "mine.py").write_text(content)
    with pytest.raises(InputError) as caught:
        known_rules([tmp_path / "mine.py"])
    assert "--plugin" in str(caught.value)
    assert words in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file of Python"):
        known_rules([tmp_path / "nothing.py"])


class _Entry:
    """An installed entry point."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.value, self._loaded = name, f"package:{name}", loaded

    def load(self) -> Any:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def installed(monkeypatch: pytest.MonkeyPatch, loaded: Any) -> Registry[type[Rule]]:
    entries = [_Entry("Own", loaded)]
    monkeypatch.setattr("stretto.framework.profile.load.entry_points", lambda group: entries)
    return known_rules()


def test_an_installed_rule_is_known_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = scoring(lambda _, __, s: s * 0)
    assert installed(monkeypatch, rule).get("Own") is rule


@pytest.mark.parametrize("loaded", [ImportError("no module"), "text", FilterRule])
def test_an_unloadable_installed_rule_affects_only_its_users(
    loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = installed(monkeypatch, loaded)
    load_profile("default", rules)
    using: Mapping[str, Any] = {
        "profiles": [{"plugins": {"score": {"enabled": [{"name": "Own"}]}}}]
    }
    with pytest.raises(InputError, match="entry point Own"):
        load_profile(using, rules)


def test_equal_labels_are_one_domain_and_none_is_domain_0() -> None:
    nodes = [make_node(f"n{i}", labels={"rack": "ab"[i % 2]} if i < 4 else {}) for i in range(5)]
    harness = Harness(nodes, config={"tier": "numpy"})
    harness.settle()
    runtime = harness.plane.shards[0].default.runtime
    domains = label_domains(runtime.view, "rack")  # type: ignore[attr-defined]
    by_name = {
        name: int(domains[slot]) for name, slot in harness.plane.cluster.nodes.by_name.items()
    }
    assert by_name["n0"] == by_name["n2"] != by_name["n1"] == by_name["n3"]
    assert by_name["n4"] == 0
    assert min(by_name["n0"], by_name["n1"]) > 0
