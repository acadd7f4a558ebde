"""Profiles, policies and rules that a configuration may name, with one sentence about each."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from stretto.base.errors import InputError
from stretto.capacity.scaling.forecast import PREDICTORS
from stretto.control.load_policies import POLICIES as LOAD_POLICIES
from stretto.control.queues.policies import POLICIES as QUEUE_POLICIES
from stretto.framework.contract.rule import FilterRule, Rule, ScoreRule
from stretto.framework.plugins.table import DEFAULT_FILTERS, DEFAULT_SCORES
from stretto.framework.profile.named import PROFILES, SENTENCES
from stretto.framework.profile.profile import load_profile
from stretto.state.queues.siblings import BY_WEIGHT, SIBLING_POLICIES

_SPACES: Final = re.compile(r"\s+")


class RuleWeight(msgspec.Struct, frozen=True):
    """A score of a profile."""

    #: Name of the rule.
    rule: str
    #: Weight of the score.
    weight: int


class ProfileRow(msgspec.Struct, frozen=True):
    """A built-in profile."""

    #: Name for ``--profile`` and for ``profile:`` of a scenario.
    name: str
    #: Intended use.
    sentence: str
    #: Names of its filters, in the order in which they are evaluated; empty for kube-parity.
    filters: tuple[str, ...]
    #: Scores of the profile with their weights; empty for kube-parity.
    scores: tuple[RuleWeight, ...]
    #: Policy that breaks ties between equal scores.
    ties: str
    #: Policy that selects the devices of a node for a pod.
    devices: str
    #: Configuration with this name.
    configuration: dict[str, Any]


class PolicyRow(msgspec.Struct, frozen=True):
    """A policy that a configuration may name."""

    #: Name of the policy.
    name: str
    #: ``score``, ``queue``, ``between queues``, ``dispatch`` or ``forecast``.
    kind: str
    #: Field that names the policy.
    where: str
    #: Description in one sentence.
    sentence: str


class RuleRow(msgspec.Struct, frozen=True):
    """A rule of the default engine."""

    #: Name of the rule in profiles and messages.
    name: str
    #: ``filter``, ``score`` or ``filter, score``.
    kind: str
    #: True if the default profile uses the rule.
    default: bool
    #: Weight of the score in the default profile, or the default weight if the profile sets none; 0
    #: for a filter.
    weight: int
    #: Description in one sentence.
    sentence: str


class ProfileList(msgspec.Struct, frozen=True):
    """The built-in profiles."""

    #: The profiles.
    items: tuple[ProfileRow, ...]


class PolicyList(msgspec.Struct, frozen=True):
    """The policies."""

    #: The policies.
    items: tuple[PolicyRow, ...]


class RuleList(msgspec.Struct, frozen=True):
    """The rules."""

    #: The rules.
    items: tuple[RuleRow, ...]


def profile_rows() -> ProfileList:
    """The built-in profiles."""
    return ProfileList(tuple(map(_profile, PROFILES)))


def _profile(name: str) -> ProfileRow:
    profile = load_profile(name)
    scores = () if profile.exact else profile.scores
    return ProfileRow(
        name=name,
        sentence=SENTENCES[name],
        filters=() if profile.exact else tuple(rule.NAME for rule in profile.filters),
        scores=tuple(RuleWeight(rule.NAME, weight) for rule, weight in scores),
        ties=profile.ties.name.lower(),
        devices=profile.device_pick.name.lower(),
        configuration=dict(PROFILES.get(name)),
    )


def policy_rows() -> PolicyList:
    """Scoring, queue and dispatch policies, and predictors."""
    scoring = [PolicyRow(name, "score", "--policy", SENTENCES[name]) for name in PROFILES]
    queue = [
        PolicyRow(str(name), "queue", "spec.policy of a Queue", policy.sentence)
        for name, policy in QUEUE_POLICIES.items()
    ]
    queue += [
        PolicyRow(str(name), "between queues", "spec.policy of the parent Queue", each.sentence)
        for name, each in SIBLING_POLICIES.items()
        if name != BY_WEIGHT
    ]
    dispatch = [
        PolicyRow(name, "dispatch", "stretto.dispatch of a profile", _sentence(load))
        for name, load in LOAD_POLICIES.items()
    ]
    where = "spec.forecast.predictor of a ScalingPolicy"
    forecast = [
        PolicyRow(name, "forecast", where, _predictor_sentence(name)) for name in PREDICTORS.names()
    ]
    return PolicyList((*scoring, *queue, *dispatch, *forecast))


def _predictor_sentence(name: str) -> str:
    """Describe a predictor, or state why it cannot be used: a broken package hides no other row."""
    try:
        return PREDICTORS.get(name).summary
    except InputError as error:
        return f"Cannot be used: {error}"


def rule_rows(rules: Iterable[type[Rule]]) -> RuleList:
    """Describe some rules."""
    return RuleList(tuple(map(_rule, rules)))


def _rule(rule: type[Rule]) -> RuleRow:
    kinds = [
        word
        for word, form in (("filter", FilterRule), ("score", ScoreRule))
        if issubclass(rule, form)
    ]
    weight = DEFAULT_SCORES.get(rule.NAME, rule.WEIGHT) if "score" in kinds else 0
    default = rule.NAME in DEFAULT_FILTERS or rule.NAME in DEFAULT_SCORES
    return RuleRow(rule.NAME, ", ".join(kinds), default, weight, _sentence(rule))


def _sentence(documented: object) -> str:
    """The first sentence of a docstring."""
    text = _SPACES.sub(" ", documented.__doc__ or "").strip().replace("``", "")
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
