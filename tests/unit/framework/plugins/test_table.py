"""The table of rules: complete, each under its own name, and each with its declarations."""

import ast
from pathlib import Path

import pytest

from stretto.framework import plugins
from stretto.framework.contract.rule import FilterRule, Rule, Scope, ScoreRule, Subject
from stretto.framework.contract.shared import SharedFilter, SharedScore
from stretto.framework.plugins.table import (
    DEFAULT,
    DEFAULT_FILTERS,
    DEFAULT_SCORES,
    PARITY_FILTERS,
    PARITY_SCORES,
    RULES,
    Forms,
)
from stretto.framework.profile.profile import PROFILES, load_profile
from stretto.state.work.units import Cure

FOLDER = Path(plugins.__path__[0])
FILTERS = [rule for _, rule in RULES.items() if issubclass(rule, FilterRule)]
BOTH = [forms for forms in DEFAULT if forms.rule is not None and forms.parity is not None]


def modules_of(path: Path) -> set[str]:
    """Rule modules that a file imports."""
    prefix, found = "stretto.framework.plugins", set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(prefix):
            of = (node.module or "").removeprefix(prefix).lstrip(".")
            found |= {of} if of else {alias.name for alias in node.names}
    return found


def test_each_rule_stands_under_its_own_name() -> None:
    assert all(name == rule.NAME for name, rule in RULES.items())


def test_every_filter_names_what_may_cure_it() -> None:
    no_node_cures = {"DynamicResources"}
    assert {r.NAME for r in FILTERS if not r.CURES & Cure.NODE_ADDED} == no_node_cures


@pytest.mark.parametrize("plugin", PARITY_FILTERS, ids=lambda plugin: plugin.NAME)
def test_every_filter_of_kube_parity_declares_its_cures(plugin: object) -> None:
    assert getattr(plugin, "CURES", Cure.NONE) is not Cure.NONE


@pytest.mark.parametrize("forms", BOTH, ids=lambda forms: forms.rule.NAME)
def test_both_forms_of_a_rule_share_its_declarations(forms: Forms) -> None:
    rule, parity = forms.rule, forms.parity
    assert rule is not None
    assert parity is not None
    assert (parity.NAME, parity.CURES, parity.CYCLE_CURES, parity.SUBJECT, parity.WEIGHT) == (
        rule.NAME,
        rule.CURES,
        rule.CYCLE_CURES,
        rule.SUBJECT,
        rule.WEIGHT,
    )
    assert "CURES" not in vars(parity) or parity.CURES is rule.CURES


def test_volumes_that_end_a_cycle_are_cured_by_volumes_alone() -> None:
    about_volumes = [each for each in PARITY_FILTERS if each.SUBJECT is Subject.VOLUMES]
    assert len(about_volumes) == 4
    assert {each.CYCLE_CURES for each in about_volumes} == {Cure.VOLUME_CHANGED}


def test_shared_forms_are_static_rules() -> None:
    shared = [
        e for e in (*PARITY_FILTERS, *PARITY_SCORES) if isinstance(e, SharedFilter | SharedScore)
    ]
    assert {each.NAME for each in shared} == {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "DynamicResources",
        "ImageLocality",
    }
    assert {each.SCOPE for each in shared} == {Scope.STATIC}


@pytest.mark.parametrize("path", sorted((FOLDER / "parity").glob("*.py")), ids=lambda p: p.stem)
def test_a_form_for_kube_parity_imports_no_rule_but_its_own(path: Path) -> None:
    imported = modules_of(path)
    assert len(imported) <= 1
    home = f".plugins.{imported.pop()}" if imported else ".none"
    defined = {rule.NAME for _, rule in RULES.items() if rule.__module__.endswith(home)}
    every = (*PARITY_FILTERS, *PARITY_SCORES)
    mine = [each for each in every if type(each).__module__.endswith(f".parity.{path.stem}")]
    assert {each.NAME for each in mine if each.NAME in RULES} <= defined


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "kube-parity"])
def test_slot_rules_of_the_named_profiles_are_compiled(name: str) -> None:
    profile = load_profile(name)
    assert [rule.NAME for rule in profile.python_filters] == []
    scores = [type(rule) for rule, _ in profile.scores if rule.SCOPE is Scope.SLOT]
    assert scores
    assert all(rule.compiled is not ScoreRule.compiled for rule in scores)


@pytest.mark.parametrize("name", [*DEFAULT_FILTERS, *DEFAULT_SCORES])
def test_the_default_profile_names_rules_that_exist(name: str) -> None:
    assert name in RULES


def test_the_default_profile_has_kube_schedulers_weights() -> None:
    assert dict(DEFAULT_SCORES) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_the_default_profile_keeps_kube_schedulers_order() -> None:
    upstream = [plugin.NAME for plugin in PARITY_FILTERS if plugin.NAME in RULES]
    assert [name for name in DEFAULT_FILTERS if name in upstream] == upstream


def test_one_filter_stays_in_every_profile() -> None:
    assert [rule.NAME for rule in FILTERS if rule.PERMANENT] == ["DynamicResources"]


def test_a_rule_that_declares_nothing_has_the_weight_one() -> None:
    assert (Rule.WEIGHT, Rule.PERMANENT, Rule.SUBJECT) == (1, False, Subject.NODE)
