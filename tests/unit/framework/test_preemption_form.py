"""Settings of preemption in a profile."""

from typing import Any

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.framework.profile.preemption_form import read_preemption
from stretto.state.victims.rules import OFF, CandidateSelection, PreemptionRules


def test_an_empty_profile_preempts_as_kube_scheduler_does() -> None:
    assert read_preemption(None, "p") == PreemptionRules() == read_preemption(True, "p")


def test_it_can_be_turned_off_in_one_word() -> None:
    assert read_preemption(False, "p") == OFF


def test_every_permitted_setting_is_read() -> None:
    form = {
        "budgets": "hard",
        "optIn": True,
        "protect": {"fromPriority": 7, "startedWithinSeconds": 60, "otherSchedulers": False},
        "waitSeconds": 5,
        "select": "better",
        "candidates": 3,
    }
    assert read_preemption(form, "p") == PreemptionRules(
        enabled=True,
        hard_budgets=True,
        opt_in=True,
        spares_others=False,
        protected_from=7,
        protected_for=60.0,
        wait_timeout=5.0,
        select=CandidateSelection.BETTER,
        candidates=3,
    )


@pytest.mark.parametrize(
    ("form", "where"),
    [
        ({"enabled": "yes"}, "p.enabled"),
        ({"waitSeconds": 0}, "p.waitSeconds"),
        ({"candidates": 0}, "p.candidates"),
        ({"protect": {"fromPriority": "high"}}, "p.protect.fromPriority"),
        ({"protect": {"startedWithinSeconds": -1}}, "p.protect.startedWithinSeconds"),
        ([], "p"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(form: Any, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_preemption(form, "p")
    assert caught.value.where == where


@pytest.mark.parametrize("form", [{"budget": "hard"}, {"budgets": "firm"}, {"select": "bset"}])
def test_an_unknown_word_is_rejected(form: Any) -> None:
    with pytest.raises(UnknownNameError):
        read_preemption(form, "p")
