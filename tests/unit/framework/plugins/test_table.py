"""The table of rules: complete, and each under its own name."""

import pytest

from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.kube_config import DEFAULT_FILTERS, DEFAULT_SCORES
from stretto.state.work.units import Cure


def test_each_rule_stands_under_its_own_name() -> None:
    assert all(name == rule.NAME for name, rule in RULES.items())


def test_every_filter_names_what_may_cure_it() -> None:
    filters = [rule for _, rule in RULES.items() if issubclass(rule, FilterRule)]
    no_node_cures = {"DynamicResources"}
    assert {r.NAME for r in filters if not r.CURES & Cure.NODE_ADDED} == no_node_cures


def test_slot_scores_that_ship_are_compiled() -> None:
    slot = [r for _, r in RULES.items() if issubclass(r, ScoreRule) and r.SCOPE is Scope.SLOT]
    assert all(rule.compiled is not ScoreRule.compiled for rule in slot)


def test_slot_filters_that_ship_are_checked_by_the_kernels() -> None:
    slot = [r for _, r in RULES.items() if issubclass(r, FilterRule) and r.SCOPE is Scope.SLOT]
    assert {rule.NAME for rule in slot if rule.FUSED} == {rule.NAME for rule in slot}


@pytest.mark.parametrize("name", [*DEFAULT_FILTERS, *DEFAULT_SCORES])
def test_the_default_profile_names_rules_that_exist(name: str) -> None:
    assert name in RULES
