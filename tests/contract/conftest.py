"""One suite, every store."""

from collections.abc import Iterator

import pytest

from stretto.stores.store import Store
from tests.contract.desk import Desk
from tests.contract.subjects import SUBJECTS, Subject


@pytest.fixture(scope="session", params=SUBJECTS, ids=lambda each: each.name)
def subject(request: pytest.FixtureRequest) -> Subject:
    """The store under test and what it can do."""
    chosen: Subject = request.param
    return chosen


@pytest.fixture
def store(subject: Subject) -> Iterator[Store]:
    """An empty store."""
    with subject.open() as opened:
        yield opened


@pytest.fixture
def desk(store: Store, subject: Subject) -> Desk:
    """Short words for what tests do with a store."""
    return Desk(store, subject)
