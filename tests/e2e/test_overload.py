"""A server that turns most requests away for now (429), for real."""

from collections.abc import Iterable, Iterator
from contextlib import closing

import msgspec
import pytest

from stretto.api.wire.kinds import POD
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Bind, Reply, WriteOutcome
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import PODS, bound, pod, put
from tests.e2e.plane import SURE, store_of
from tests.e2e.reader import SPACE, done, pods
from tests.e2e.storm import ONE_PLACE, no_master, only_place_taken, rejected_requests

pytestmark = pytest.mark.kube

TIMEOUT = msgspec.structs.replace(SURE, write_timeout=2.0)


@pytest.fixture(scope="module")
def narrow() -> Iterator[ControlPlane]:
    """A server that does one write at a time and refuses the others."""
    config = ControlPlaneConfig(
        users=(CertificateUser("us"), CertificateUser("them")), audited=True, flags=ONE_PLACE
    )
    with ControlPlane(config) as plane:
        put(plane, "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        no_master(plane, "us")
        no_master(plane, "them")
        yield plane


@pytest.fixture
def store(narrow: ControlPlane) -> Iterator[KubeStore]:
    """A store whose writes have two seconds before they are answered as refused."""
    with closing(store_of(narrow, TIMEOUT, user="us")) as store:
        yield store


def test_a_storm_of_refusals_loses_no_write(narrow: ControlPlane, store: KubeStore) -> None:
    names = [f"p{number}" for number in range(60)]
    before = rejected_requests(narrow, "us")
    with only_place_taken(narrow, "them"):
        replies = store.create(POD, pods(names))
    assert outcomes(replies) == {WriteOutcome.REFUSED}
    assert any("nothing was sent" in reply.message for reply in replies)  # after the timeout
    assert rejected_requests(narrow, "us") > before
    records = {}
    while names:  # the client retries requests that are rejected within the timeout
        replies = store.create(POD, pods(names))
        assert outcomes(replies) <= {WriteOutcome.OK, WriteOutcome.REFUSED}
        records |= {n: done(r) for n, r in zip(names, replies, strict=True) if r.record}
        names = [name for name in names if name not in records]
    assert len(store.list(POD).records) == 60


def test_binds_come_through_a_storm(narrow: ControlPlane, store: KubeStore) -> None:
    names = [f"bound-{number}" for number in range(60)]
    put(narrow, PODS, *(pod(name) for name in names))
    waiting = {each.name: each for each in store.list(POD).records if each.name in names}
    assert len(waiting) == 60

    def bind() -> list[Reply]:
        return store.bind([Bind(SPACE, name, each.uid, "n1") for name, each in waiting.items()])

    before = rejected_requests(narrow, "us")
    with only_place_taken(narrow, "them"):
        assert outcomes(bind()) == {WriteOutcome.REFUSED}
    assert rejected_requests(narrow, "us") > before
    while waiting:
        replies = bind()
        assert outcomes(replies) <= {WriteOutcome.OK, WriteOutcome.REFUSED}
        reported = zip(waiting.items(), replies, strict=True)
        waiting = dict(each for each, reply in reported if reply.outcome is not WriteOutcome.OK)
    assert {bound(narrow)[name] for name in names} == {"n1"}


def outcomes(replies: Iterable[Reply]) -> set[WriteOutcome]:
    """Outcomes of writes."""
    return {reply.outcome for reply in replies}
