"""Members of a replay behave as the recorded ones."""

import pytest

from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.clock import ManualClock
from stretto.base.errors import UnreachableError
from stretto.federation.connection.protocol import ClusterCredentials
from stretto.federation.settings import KUBEADMIRAL
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto_lab.conformance.wire.connections import RecordedConnector

SPEC, KEYS = FederatedClusterSpec(), ClusterCredentials("")


@pytest.fixture
def connector() -> RecordedConnector:
    fleet = EmbeddedFleet(ManualClock(0.0), KUBEADMIRAL)
    fleet.add_member("alpha")
    return RecordedConnector(fleet.connector, {"beta": "x509: unknown authority"})


def test_a_member_serves_objects_and_no_metrics(connector: RecordedConnector) -> None:
    connection = connector.connect("alpha", SPEC, KEYS)
    assert connection.probe().result().kinds
    with pytest.raises(UnreachableError, match="serves no metrics"):
        connection.usage("default").result()


def test_a_member_that_the_recording_refused_is_refused(connector: RecordedConnector) -> None:
    with pytest.raises(UnreachableError, match="unknown authority"):
        connector.connect("beta", SPEC, KEYS)
