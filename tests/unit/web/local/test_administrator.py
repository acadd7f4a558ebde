"""Actions of the dashboard in a local cluster, with the admission of its API."""

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.internal import ApiClient
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.local.administrator import local_actions
from stretto.web.views.acting.contract import Action
from stretto.web.views.acting.writes import StoreActions

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i}]}"


def actions() -> StoreActions:
    clock = ManualClock(1_790_000_000.0)
    server = ApiServer(MemoryStore(clock, Rng(1)), ApiSettings(clock, Rng(2)))
    return local_actions(ApiClient(server.state, "kube-controller-manager"))


LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: Container, max: {cpu: "1"}}]}
"""


def refusals(text: str) -> list[str]:
    return [each.refusal for each in actions().submit(text)]


def test_the_administrator_has_all_rights() -> None:
    assert actions().refusal(Action.EVICT, "default/web") == ""
    assert [each.refusal for each in actions().check(POD)] == [""]


def test_pasted_objects_are_created_with_the_defaults_of_the_api() -> None:
    acting = actions()
    assert [each.title for each in acting.submit(POD)] == ["Pod default/x"]
    (again,) = acting.submit(POD)
    assert 'pods "x" already exists' in again.refusal


def test_a_refused_object_stops_no_other() -> None:
    wrong = POD.replace("name: c", "name: C!")
    first, second = refusals(f"{wrong}\n---\n{POD}")
    assert "Invalid value" in first
    assert second == ""


def test_a_check_shows_the_refusal_of_each_object_and_writes_nothing() -> None:
    acting = actions()
    wrong = POD.replace("name: c", "name: C!")
    first, second = acting.check(f"{wrong}\n---\n{POD}")
    assert "Invalid value" in first.refusal
    assert second.refusal == ""
    assert [each.refusal for each in acting.submit(POD)] == [""]


def test_a_check_runs_the_admission_of_the_api() -> None:
    acting = actions()
    acting.submit(LIMITS)
    large = POD.replace("image: i", "image: i, resources: {limits: {cpu: 2}}")
    (found,) = acting.check(large)
    assert "maximum cpu usage per Container is 1, but limit is 2" in found.refusal


def test_a_check_names_an_object_that_exists() -> None:
    acting = actions()
    acting.submit(POD)
    assert 'pods "x" already exists' in acting.check(POD)[0].refusal


def test_an_object_in_a_new_namespace_of_the_same_text_is_not_tried() -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: new}"
    inside = POD.replace("{name: x}", "{name: x, namespace: new}")
    _, found = actions().check(f"{space}\n---\n{inside}")
    assert found.refusal == ""
    assert found.untried == "not tried: Namespace new does not exist yet"


def test_a_kind_that_is_not_served_is_refused() -> None:
    text = "apiVersion: example.org/v1\nkind: Bush\nmetadata: {name: x}"
    assert refusals(text) == [
        "kind example.org/v1 Bush was not found: this cluster does not serve it"
    ]
