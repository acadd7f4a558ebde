"""Stale ``nominatedNodeName`` values of a crashed predecessor on pending pods."""

from collections.abc import Sequence

import msgspec
import pytest

from stretto.api.wire.kinds import POD, Kind
from stretto.control.eviction.nominated_names import INHERITED_AFTER, INHERITED_AT_ONCE
from stretto.state.rows.lifecycle import PodState
from stretto.stores.store import Patch, Replies
from stretto.testing import Harness
from tests.support.preemption_plane import harness, held, high, running, state

SOON = INHERITED_AFTER + 1
NUMPY = {"tier": "numpy"}


def left(*pods: bytes, nodes: tuple[bytes, ...] = ()) -> Harness:
    """A new plane over a store in which pods carry the name of a node from before."""
    made = harness(*nodes)
    made.submit(*pods)
    name(made, *[record.name for record in made.store.list(POD).records])
    return made


def name(plane: Harness, *pods: str) -> None:
    status = {"status": {"nominatedNodeName": "n"}}
    plane.store.patch_status(POD, [Patch("default", each, status) for each in pods])


def named(plane: Harness, pod: str = "high") -> str | None:
    """The node's name that a pod carries."""
    record = plane.store.get(POD, "default", pod)
    assert record is not None
    found: str | None = msgspec.json.decode(record.body).get("status", {}).get("nominatedNodeName")
    return found


def test_a_name_without_a_claim_is_taken_off_after_a_while() -> None:
    plane = left(high(cpu="9"))
    plane.settle(INHERITED_AFTER - 1)
    assert named(plane) == "n"
    plane.settle(2)
    assert named(plane) is None


def test_a_pod_that_is_gated_loses_it_too() -> None:
    plane = left(high(spec={"schedulingGates": [{"name": "wait"}]}))
    plane.settle(SOON)
    assert named(plane) is None


def test_a_pod_of_another_scheduler_keeps_what_it_carries() -> None:
    plane = left(high(cpu="9", spec={"schedulerName": "another"}))
    plane.settle(SOON)
    assert named(plane) == "n"


def test_later_writes_of_another_client_are_kept() -> None:
    plane = left(high(cpu="9"))
    plane.settle(SOON)
    name(plane, "high")
    plane.settle(10 * SOON)
    assert named(plane) == "n"


def test_a_pod_with_a_new_claim_reports_that_claim_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = running(held())
    before.submit(high())
    before.settle()
    again = Harness(store=before.store, profile=before.plane.config.profile, config=NUMPY)
    reported = counted(again, monkeypatch)
    again.settle(SOON)
    assert again.plane.cluster.nominations.inherited == {}
    assert (state(again, "high"), named(again), reported) == (PodState.NOMINATED, "n", [1])


def test_many_names_are_taken_off_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = left(*[high(f"p{number}", cpu="9") for number in range(80)])
    reported = counted(plane, monkeypatch)
    plane.settle(SOON)
    assert reported[0] == INHERITED_AT_ONCE
    plane.settle(5)
    assert sum(reported) == 80
    assert {named(plane, f"p{number}") for number in range(80)} == {None}


def counted(plane: Harness, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of pods reported together, batch by batch, from now on."""
    reported: list[int] = []
    patch = plane.plane.store.patch_status

    def counting(kind: Kind, patches: Sequence[Patch]) -> Replies:
        reported.append(len(patches))
        return patch(kind, patches)

    monkeypatch.setattr(plane.plane.store, "patch_status", counting)
    return reported
