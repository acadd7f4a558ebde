"""The record of Kubernetes' own tests, and its page."""

import pytest

from stretto_lab.control_plane.results import RecordedTest, SuiteRecord, SuiteState
from stretto_lab.control_plane.selection import FAILING, NOT_RUN, group_of, reason_in
from stretto_lab.control_plane.upstream import SuiteTest

NAME = "[sig-apps] Job should end"
LEFT_OUT = "[sig-cli] Kubectl exec should run"


def outcome(name: str, state: str, message: str = "") -> SuiteTest:
    return SuiteTest(name, state, 2_500_000_000, failure={"Message": message} if message else None)


def recorded(*found: SuiteTest, before: tuple[RecordedTest, ...] = ()) -> list[RecordedTest]:
    names = {each.title for each in found}
    record = SuiteRecord("1.36.3", list(before))
    return record.updated(list(found), names, "2026-11-27", "abc").tests


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("passed", SuiteState.PASSED),
        ("failed", SuiteState.FAILED),
        ("timedout", SuiteState.FAILED),
        ("skipped", SuiteState.NOT_RUN),
    ],
)
def test_states_of_ginkgo_are_three_results(state: str, expected: SuiteState) -> None:
    assert [each.state for each in recorded(outcome(NAME, state))] == [expected]


def test_a_result_states_its_run() -> None:
    assert recorded(outcome(NAME, "passed")) == [
        RecordedTest(NAME, SuiteState.PASSED, "2026-11-27", "abc", 2.5)
    ]


def test_a_failure_has_the_first_line_of_its_message() -> None:
    (found,) = recorded(outcome(NAME, "failed", "no pod\ndetails"))
    assert found.why == "no pod"


@pytest.mark.parametrize("state", ["failed", "passed"])
def test_a_test_that_needs_more_than_the_server_has_no_result(state: str) -> None:
    (found,) = recorded(outcome(LEFT_OUT, state, "timeout"))
    assert (found.state, found.why) == (SuiteState.NOT_RUN, reason_in(NOT_RUN, LEFT_OUT))


def test_results_of_other_tests_stay() -> None:
    before = RecordedTest("[sig-apps] A", SuiteState.PASSED, "2026-11-01", "old", 1.0)
    assert recorded(outcome(NAME, "passed"), before=(before,))[0] == before


def test_a_listed_test_is_not_run() -> None:
    record = SuiteRecord("1.36.3", []).updated([outcome(NAME, "passed")], set(), "", "")
    assert [each.state for each in record.tests] == [SuiteState.NOT_RUN]


@pytest.mark.parametrize(("name", "group"), [(NAME, "sig-apps"), ("[sig-node] Pods", "")])
def test_the_group_is_the_first_label(name: str, group: str) -> None:
    assert group_of(name) == group


def test_no_reason_is_empty() -> None:
    assert all([*NOT_RUN.values(), *FAILING.values()])
