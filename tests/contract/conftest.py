"""One suite, every store."""

from collections.abc import Iterator

import pytest

from stretto.stores.store import Store
from tests.contract.kube_subject import kube_subject
from tests.contract.shorthand import Desk
from tests.contract.subjects import SUBJECTS, Subject


@pytest.fixture(
    scope="session",
    params=[*SUBJECTS, pytest.param(None, marks=pytest.mark.kube)],
    ids=lambda each: each.name if each else "kube",
)
def subject(request: pytest.FixtureRequest) -> Subject:
    """The store under test; a real API server under the mark ``kube``."""
    chosen: Subject | None = request.param
    return chosen or kube_subject(request.getfixturevalue("control_plane"))


@pytest.fixture
def store(subject: Subject) -> Iterator[Store]:
    """An empty store."""
    with subject.open() as opened:
        yield opened


@pytest.fixture
def desk(store: Store, subject: Subject) -> Desk:
    """Short words for what tests do with a store."""
    return Desk(store, subject)
