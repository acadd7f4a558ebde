"""Conditions of objects."""

from stretto.reconcile.conditions import true_condition, with_condition

READY = {"type": "Ready", "status": "True"}
OTHER = {"type": "Other", "status": "True"}


def test_a_new_condition_is_the_last_one() -> None:
    found = with_condition([OTHER], READY, "now")
    assert found == [OTHER, {**READY, "lastTransitionTime": "now"}]


def test_a_condition_keeps_its_place_and_its_time_while_its_status_stays() -> None:
    before = [{**READY, "lastTransitionTime": "then", "reason": "Old"}, OTHER]
    found = with_condition(before, {**READY, "reason": "New"}, "now")
    assert found == [{**READY, "lastTransitionTime": "then", "reason": "New"}, OTHER]


def test_another_status_has_a_new_time() -> None:
    before = [{"type": "Ready", "status": "False", "lastTransitionTime": "then"}]
    assert with_condition(before, READY, "now")[0]["lastTransitionTime"] == "now"


def test_no_conditions_are_an_empty_list() -> None:
    assert len(with_condition(None, READY, "now")) == 1


def test_a_condition_that_is_not_true_is_not_found() -> None:
    conditions = [{"type": "Ready", "status": "False"}, OTHER]
    assert true_condition(conditions, "Ready") is None
    assert true_condition(conditions, "Ready", "Other") == OTHER
    assert true_condition(None, "Ready") is None
