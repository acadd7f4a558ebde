"""Law 7 over a fleet holds, and eleven planted bugs are found."""

from collections.abc import Callable
from typing import Any

import pytest

from stretto.api.types.federation.objects import PropagationStatus
from stretto.cli.main import cli
from stretto.federation.controllers.propagation import requests
from stretto.federation.controllers.propagation.writer import MemberWriter
from stretto.federation.controllers.rollouts.course import NO_COURSE, FleetRollouts
from stretto.federation.controllers.schedule import ScheduleController
from stretto.federation.controllers.sync import SyncController
from stretto.federation.objects import placements, template
from stretto.federation.objects.decision import decided
from stretto.federation.objects.rollouts import members
from stretto_lab.chaos.fleets.campaign import run_seed

STEPS = 40
SEEDS = (0, 10, 27, 5)
Patcher = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fleet_keeps_the_laws(seed: int) -> None:
    assert run_seed(seed, STEPS).breaches == ()


def division_loses_a_replica(patch: pytest.MonkeyPatch) -> None:
    inner = decided.with_result

    def lossy(spec: Any, type_: Any, result: Any) -> Any:
        made = inner(spec, type_, result)
        for cluster in placements.overrides_by(made, "kubeadmiral.io/global-scheduler").values():
            for each in cluster:
                each["value"] = max(0, each["value"] - 1)
        return made

    patch.setattr(decided, "with_result", lossy)


def placements_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decided, "with_result", lambda spec, *_: decided.without_result(spec))


def objects_of_others_are_adopted(patch: pytest.MonkeyPatch) -> None:
    def take(self: Any, item: Any, cluster: Any, *more: Any) -> Any:
        member = self._fleet.member(cluster.record.name)
        if member is not None:
            for each in member.follow_synced(item.type.kind):
                if each.record.name == "own":
                    from stretto.reconcile import writes

                    writes.patch(member.store, each, {"spec": {"replicas": 3}})
        return ENSURE(self, item, cluster, *more)

    patch.setattr(MemberWriter, "ensure", take)


ENSURE = MemberWriter.ensure


def writes_claim_success(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemberWriter, "ensure", lambda *_: PropagationStatus.OK)


def clusters_are_never_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemberWriter, "remove", lambda *_: None)


def placed_objects_are_deleted(patch: pytest.MonkeyPatch) -> None:
    def gone(self: Any, item: Any, cluster: Any, course: Any, now: float) -> Any:
        ENSURE(self, item, cluster, course, now)
        self.remove(item, cluster, now)
        return PropagationStatus.OK

    patch.setattr(MemberWriter, "ensure", gone)


def rollouts_never_begin(patch: pytest.MonkeyPatch) -> None:
    inner = FleetRollouts.course

    def frozen(self: Any, type_: Any, federated: Any) -> Any:
        found = inner(self, type_, federated)
        return found if not found.objects or _is_new(self, federated) else NO_OBJECTS

    patch.setattr(FleetRollouts, "course", frozen)
    patch.setattr(SyncController, "_of_member", lambda *_: ())


NO_OBJECTS = NO_COURSE


def _is_new(rollouts: Any, federated: Any) -> bool:
    return not federated.status.get("clusters")


def controllers_crash_on_a_condition(patch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, key: Any, now: float) -> Any:
        raise KeyError("status")

    patch.setattr(ScheduleController, "reconcile", broken)


def templates_are_never_updated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(template, "updated", lambda *_: None)


def members_get_three_times_the_replicas(patch: pytest.MonkeyPatch) -> None:
    inner = members.with_spec

    def more(wanted: Any, spec: Any, before: Any, pods: Any) -> Any:
        made = inner(wanted, spec, before, pods)
        return {**made, "spec": {**made["spec"], "replicas": 3 * spec.replicas + 3}}

    patch.setattr(members, "with_spec", more)


PLANTED: list[Patcher] = [
    division_loses_a_replica,
    placements_are_forgotten,
    objects_of_others_are_adopted,
    writes_claim_success,
    clusters_are_never_left,
    placed_objects_are_deleted,
    rollouts_never_begin,
    controllers_crash_on_a_condition,
    templates_are_never_updated,
    members_get_three_times_the_replicas,
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda each: each.__name__)
def test_a_planted_bug_is_found(plant: Patcher, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(run_seed(seed, STEPS).breaches for seed in SEEDS)


def test_an_apply_that_names_no_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed is one of those with a single kind of fault: slow members, and migrations."""
    assert run_seed(3019, 20).breaches == ()
    inner = requests.application
    monkeypatch.setattr(requests, "application", lambda *args, guarded: inner(*args, guarded=False))
    assert "pods are available" in run_seed(3019, 20).breaches[0]


def test_the_same_seed_gives_the_same_run() -> None:
    assert run_seed(3, STEPS) == run_seed(3, STEPS)


def test_the_command_reports_a_breach(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    division_loses_a_replica(monkeypatch)
    assert cli._run(["chaos", "--fleets", "--seeds", "1", "--steps", "5"]) == 9
    assert "stretto chaos --fleets --seed 0 --seeds 1 --steps 5" in capsys.readouterr().err


def test_the_command_accepts_one_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._run(["chaos", "--fleets", "--offers"]) == 2
    assert "give one of them" in capsys.readouterr().err
