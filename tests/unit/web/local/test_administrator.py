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


def test_a_kind_that_is_not_served_is_refused() -> None:
    text = "apiVersion: example.org/v1\nkind: Bush\nmetadata: {name: x}"
    assert refusals(text) == [
        "kind example.org/v1 Bush was not found: this cluster does not serve it"
    ]
