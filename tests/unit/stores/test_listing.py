import pytest

from stretto.api.wire.kinds import EVENT, NODE, POD
from stretto.base.errors import InputError, TooOldError
from stretto.stores.embedded.listing import OPEN_PAGES
from stretto.stores.store import ListOptions, Record
from tests.contract import bodies
from tests.unit.stores.contents import SPACE, add_pods, memory


def test_lists_that_are_paged_do_not_fill_the_memory() -> None:
    store = memory()
    add_pods(store, "a", "b")
    first = ListOptions(limit=1)
    tokens = [store.list(POD, first).next_page for _ in range(OPEN_PAGES + 1)]
    with pytest.raises(TooOldError):
        store.list(POD, ListOptions(limit=1, page=tokens[0]))
    assert [each.name for each in store.list(POD, ListOptions(page=tokens[1])).records] == ["b"]


def test_a_page_may_be_read_again() -> None:
    store = memory()
    add_pods(store, "a", "b", "c")
    token = store.list(POD, ListOptions(limit=1)).next_page
    pages = [store.list(POD, ListOptions(limit=1, page=token)) for _ in range(2)]
    assert pages[0] == pages[1]


def test_a_token_is_good_for_its_own_list_only() -> None:
    store = memory()
    add_pods(store, "a", "b")
    token = store.list(POD, ListOptions(limit=1)).next_page
    with pytest.raises(InputError, match="a token of this list"):
        store.list(POD, ListOptions(limit=1, page=token, labels="app=web"))
    with pytest.raises(InputError, match="a token of this list"):
        store.list(NODE, ListOptions(limit=1, page=token))


def test_a_record_that_cannot_be_read_does_not_hide_the_others() -> None:
    store = memory()
    good = Record(POD, SPACE, "good", "u1", 1, bodies.pod("good", labels={"a": "b"}))
    store.seed([good, Record(POD, SPACE, "bad", "u2", 2, b'{"metadata":{"labels":5}}')])
    assert store.list(POD, ListOptions(labels="a=b")).records == [good]
    assert store.list(POD, ListOptions(fields="status.phase=Pending")).records == [good]


def test_selectable_fields_of_an_api_server_can_be_selected() -> None:
    store = memory()
    spec = {"unschedulable": True}
    store.create(NODE, [bodies.node("a"), bodies.body(metadata={"name": "b"}, spec=spec)])
    store.create(EVENT, [bodies.body(metadata={"name": "e"}, involvedObject={"name": "web"})])
    cordoned = store.list(NODE, ListOptions(fields="spec.unschedulable=true")).records
    about_web = store.list(EVENT, ListOptions(fields="involvedObject.name=web")).records
    assert [record.name for record in (*cordoned, *about_web)] == ["b", "e"]


def test_a_field_that_cannot_be_selected_names_those_that_can() -> None:
    with pytest.raises(InputError, match=r"spec\.nodeName"):
        memory().list(POD, ListOptions(fields="spec.nodename=n1"))
