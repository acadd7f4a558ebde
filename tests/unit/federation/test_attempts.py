"""Writes to members count until their answer or their effect is seen."""

from typing import Any

import msgspec

from stretto.api.edit.patch import PatchType
from stretto.api.wire.kinds import DEPLOYMENT
from stretto.federation.controllers.keys import DeliveryPlace, FederatedKey
from stretto.federation.controllers.propagation.attempts import WriteAttempts
from stretto.reconcile.cache import StoredObject
from stretto.stores.store import Patch, Record, Reply, Update, Write, WriteOutcome, WriteVerb

PLACE = DeliveryPlace("east", FederatedKey("deployments.apps", "default", "web"))
SENT = {"metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": 3}}
BODY = msgspec.json.encode(SENT)
LOST = Reply(WriteOutcome.UNKNOWN, message="no answer")


def version(number: int) -> StoredObject:
    """The Deployment at a version."""
    place: dict[str, Any] = {"kind": DEPLOYMENT, "namespace": "default", "name": "web", "uid": "1"}
    return StoredObject(Record(**place, body=BODY, version=number))


def replaced(number: int) -> WriteAttempts:
    """A write that replaces a version."""
    made = WriteAttempts()
    change = Update("default", "web", BODY, number)
    made.begin(PLACE, Write(WriteVerb.UPDATE, DEPLOYMENT, (change,)))
    return made


def test_a_write_in_flight_counts_while_the_version_that_it_replaces_is_seen() -> None:
    assert replaced(5).unseen(PLACE, version(5)) == SENT


def test_a_lost_answer_changes_nothing() -> None:
    attempts = replaced(5)
    attempts.answered(PLACE, LOST)
    assert attempts.unseen(PLACE, version(5)) == SENT


def test_a_write_is_over_once_another_version_is_seen() -> None:
    attempts = replaced(5)
    assert attempts.unseen(PLACE, version(6)) is None
    assert attempts.unseen(PLACE, version(5)) is None


def test_a_creation_counts_while_nothing_is_seen() -> None:
    attempts = WriteAttempts()
    attempts.begin(PLACE, Write(WriteVerb.CREATE, DEPLOYMENT, (BODY,)))
    assert attempts.unseen(PLACE, None) == SENT
    assert attempts.unseen(PLACE, version(1)) is None


def test_an_answer_ends_an_attempt() -> None:
    attempts = replaced(5)
    attempts.answered(PLACE, Reply(WriteOutcome.OK))
    assert attempts.unseen(PLACE, version(5)) is None


def applied(number: int | None) -> WriteAttempts:
    """Fields are applied to a version, or to any."""
    made = WriteAttempts()
    change = Patch("default", "web", SENT, number, type=PatchType.APPLY)
    made.begin(PLACE, Write(WriteVerb.PATCH, DEPLOYMENT, (change,)))
    return made


def test_an_apply_counts_while_the_version_that_it_names_is_seen() -> None:
    attempts = applied(5)
    assert attempts.unseen(PLACE, version(5)) == SENT
    assert attempts.unseen(PLACE, version(6)) is None


def test_an_apply_that_names_no_version_is_not_recorded() -> None:
    assert applied(None).unseen(PLACE, version(5)) is None
