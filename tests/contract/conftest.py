"""One suite, every store."""

from collections.abc import Iterator

import pytest

from stretto.stores.store import Store
from tests.contract.kube_subject import kube_subject
from tests.contract.own_server import own_server
from tests.contract.shorthand import Desk
from tests.contract.subjects import SUBJECTS, Subject


@pytest.fixture(
    scope="session",
    params=[
        *SUBJECTS,
        pytest.param("own", marks=pytest.mark.slow),
        pytest.param("kube", marks=pytest.mark.kube),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The store under test; under marks our API server and a real one."""
    chosen: Subject | str = request.param
    if isinstance(chosen, Subject):
        yield chosen
    elif chosen == "own":
        with own_server() as server:
            yield kube_subject(server, chosen)
    else:
        yield kube_subject(request.getfixturevalue("control_plane"))


@pytest.fixture
def store(subject: Subject) -> Iterator[Store]:
    """An empty store."""
    with subject.open() as opened:
        yield opened


@pytest.fixture
def desk(store: Store, subject: Subject) -> Desk:
    """Short words for what tests do with a store."""
    return Desk(store, subject)
