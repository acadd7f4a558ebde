"""Access to the dashboard, and the restrictions of its pages in a browser."""

import pytest

from stretto.web.dashboard.guard import COOKIE, POLICY, Access
from tests.unit.web.dashboards import get, post, small_dashboard
from tests.unit.web.recorded_actions import RecordedActions, acting_dashboard

SECRET = Access(token="a-secret")


def test_every_page_has_the_strict_policy() -> None:
    headers = get(small_dashboard(), "/pods").headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe-inline" not in POLICY


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1.attacker.example", ""])
def test_foreign_host_names_are_refused(host: str) -> None:
    page = get(small_dashboard(), "/", {"host": host})
    assert page.status_code == 403


def test_a_page_needs_the_token_once() -> None:
    app = small_dashboard(access=SECRET)
    assert get(app, "/").status_code == 401
    answer = get(app, "/?token=a-secret")
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert get(app, "/", {"cookie": cookie.partition(";")[0]}).status_code == 200


@pytest.mark.parametrize("wrong", ["", "a-secreT", "a"])
def test_a_wrong_token_opens_nothing(wrong: str) -> None:
    app = small_dashboard(access=SECRET)
    assert get(app, f"/?token={wrong}").status_code == 401
    assert get(app, "/", {"cookie": f"{COOKIE}={wrong}"}).status_code == 401


def test_an_action_of_a_foreign_page_is_refused() -> None:
    actions = RecordedActions()
    answer = post(
        acting_dashboard(actions),
        "/actions/cordon",
        {"subject": "n1"},
        {"origin": "https://attacker.example"},
    )
    assert answer.status_code == 403
    assert actions.done == []


def test_an_action_of_an_own_page_is_done() -> None:
    actions = RecordedActions()
    answer = post(acting_dashboard(actions), "/actions/cordon", {"subject": "n1"})
    assert answer.status_code == 303
    assert actions.done == [("cordon", "n1")]


def test_an_unknown_action_is_not_found() -> None:
    answer = post(acting_dashboard(RecordedActions()), "/actions/delete", {"subject": "n1"})
    assert answer.status_code == 404


def test_a_dashboard_that_reads_has_no_actions() -> None:
    assert post(small_dashboard(), "/actions/cordon", {"subject": "n1"}).status_code == 404
