"""VerticalPodAutoscalers over a store: limits, restarts, kills, missing and old measurements."""

from typing import Any

import msgspec
import pytest

from stretto.api.types.capacity.metrics import ContainerMetrics, PodMetrics
from stretto.api.wire.kinds import DEPLOYMENT, POD, VERTICAL_CHECKPOINT, VERTICAL_POD_AUTOSCALER
from stretto.api.wire.meta import ObjectMeta
from stretto.base.clock import ManualClock, timestamp
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.capacity.vertical.checkpoints import status_change
from stretto.capacity.vertical.controller import VerticalController
from stretto.capacity.vertical.source import VerticalSource
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch

Fields = dict[str, Any]

MIB = 1 << 20
HOUR = 3600.0


class Metrics:
    """metrics.k8s.io with one container per pod."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.use: dict[str, tuple[str, str]] = {}
        self.age_s = 0.0
        self.error: Exception | None = None

    def pods(self, namespace: str) -> list[PodMetrics]:
        if self.error is not None:
            raise self.error
        at = timestamp(int(self.clock.now() - self.age_s))
        return [
            PodMetrics(
                ObjectMeta(name, namespace=namespace),
                at,
                "15s",
                (ContainerMetrics("c", {"cpu": cpu, "memory": memory}),),
            )
            for name, (cpu, memory) in self.use.items()
        ]


class Recommended:
    """A Deployment with two pods, its autoscaler and the controller."""

    def __init__(self, **spec: Any) -> None:
        self.clock = ManualClock(1_790_000_000.0)
        self.metrics = Metrics(self.clock)
        self.store = MemoryStore(self.clock, Rng(0))
        selector = {"matchLabels": {"app": "web"}}
        self.create(DEPLOYMENT, "web", spec={"selector": selector, "template": {}})
        for name in ("web-1", "web-2"):
            container = {"name": "c", "resources": {"requests": {"memory": "200Mi"}}}
            self.create(POD, name, {"app": "web"}, spec={"containers": [container]})
            self.metrics.use[name] = ("200m", "300Mi")
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        self.create(VERTICAL_POD_AUTOSCALER, "web", spec={"targetRef": target, **spec})
        self.start()

    def create(self, kind: Any, name: str, labels: Fields | None = None, **fields: Any) -> None:
        body = {"metadata": {"name": name, "labels": labels or {}}, **fields}
        (reply,) = self.store.create(kind, [msgspec.json.encode(body)])
        assert reply.record is not None, reply.message

    def start(self, recommender: str = "default") -> None:
        """Start the controller, as after a restart."""
        self.loop = ReconcileLoop(self.clock)
        cache = self.loop.add_store("local", self.store)
        source = VerticalSource(self.metrics, recommender)
        self.loop.add_controllers([VerticalController(cache, self.clock, source)])

    def run(self, seconds: float = HOUR, step: float = 60.0) -> "Recommended":
        for _ in range(int(seconds // step)):
            while self.loop.step():
                pass
            self.clock.advance(step)
        return self

    def kill(self, pod: str, ago_s: float = 0.0) -> None:
        at = timestamp(int(self.clock.now() - ago_s))
        ended = {"terminated": {"reason": "OOMKilled", "finishedAt": at}}
        status = {"containerStatuses": [{"name": "c", "lastState": ended}]}
        self.store.patch_status(POD, [Patch("default", pod, {"status": status})])

    def read(self, kind: Any, name: str) -> Fields:
        record = self.store.get(kind, "default", name)
        assert record is not None
        found: Fields = msgspec.json.decode(render(record))
        return found

    @property
    def status(self) -> Fields:
        found: Fields = self.read(VERTICAL_POD_AUTOSCALER, "web").get("status", {})
        return found

    @property
    def recommended(self) -> Fields:
        found: Fields = self.status["recommendation"]["containerRecommendations"][0]
        return found

    @property
    def memory(self) -> int:
        return int(self.recommended["target"]["memory"])

    def reason(self, name: str) -> str:
        found = {each["type"]: each for each in self.status["conditions"]}
        return f"{found[name]['status']} {found[name]['reason']}" if name in found else "absent"


def test_bounds_surround_the_target_and_narrow_with_time() -> None:
    found = Recommended()
    first = found.run(HOUR).recommended
    second = found.run(24 * HOUR).recommended
    assert first["target"] == second["target"] == {"cpu": "247m", "memory": "380258472"}
    assert int(first["upperBound"]["memory"]) > int(second["upperBound"]["memory"])


def policy(**more: Any) -> Fields:
    return {"resourcePolicy": {"containerPolicies": [{"containerName": "c", **more}]}}


@pytest.mark.parametrize(
    ("limits", "cpu"),
    [
        (policy(maxAllowed={"cpu": "100m"}), "100m"),
        (policy(minAllowed={"cpu": "1"}), "1"),
        (policy(minAllowed={"cpu": "1"}, maxAllowed={"cpu": "2"}), "1"),
        (policy(maxAllowed={"cpu": "0"}), "247m"),
        ({"resourcePolicy": {"containerPolicies": [{"minAllowed": {"cpu": "3"}}]}}, "3"),
    ],
)
def test_the_target_stays_within_the_policy(limits: Fields, cpu: str) -> None:
    found = Recommended(**limits).run().recommended
    assert found["target"]["cpu"] == cpu
    assert found["uncappedTarget"]["cpu"] == "247m"


def test_only_controlled_resources_are_recommended() -> None:
    found = Recommended(**policy(controlledResources=["memory"])).run().recommended
    assert {*found["target"]} == {*found["upperBound"]} == {"memory"}


def test_a_container_that_is_off_has_no_recommendation() -> None:
    found = Recommended(**policy(mode="Off")).run()
    assert "recommendation" not in found.status
    assert found.reason("RecommendationProvided") == "False "


def test_a_restart_continues_the_history() -> None:
    found = Recommended().run(10 * HOUR)
    samples = found.read(VERTICAL_CHECKPOINT, "web-c")["status"]["totalSamplesCount"]
    found.start()
    found.run(600)
    after = found.read(VERTICAL_CHECKPOINT, "web-c")["status"]
    assert after["totalSamplesCount"] >= samples + 10
    assert len(after["memoryPeaks"]) == 2


def test_a_peak_before_a_restart_counts_once_after_it() -> None:
    found = Recommended()
    found.metrics.use = dict.fromkeys(found.metrics.use, ("200m", "800Mi"))
    found.run(HOUR)
    before = found.memory
    found.metrics.use = dict.fromkeys(found.metrics.use, ("200m", "300Mi"))
    found.start()
    assert found.run(HOUR).memory == before
    stored = found.read(VERTICAL_CHECKPOINT, "web-c")["status"]
    assert stored["memoryHistogram"]["bucketWeights"] == {}


def test_a_kill_raises_memory_and_is_counted_once() -> None:
    found = Recommended().run()
    before = found.memory
    found.kill("web-1")
    after = found.run(300).memory
    found.start()
    assert after == found.run(HOUR).memory
    assert after > before + 100 * MIB


def test_use_after_a_kill_is_not_raised_again() -> None:
    found = Recommended()
    found.kill("web-1")
    found.run(300)
    found.metrics.use = dict.fromkeys(found.metrics.use, ("200m", "900Mi"))
    assert found.run().memory < 1.2 * 900 * MIB


def test_a_bucket_without_weight_is_removed_from_a_checkpoint() -> None:
    old, new = ({"bucketWeights": weights} for weights in ({"1": 5, "2": 5}, {"2": 3}))
    change = status_change({"cpuHistogram": old}, {"cpuHistogram": new, "memoryHistogram": {}})
    assert change["cpuHistogram"]["bucketWeights"] == {"1": None, "2": 3}


def test_an_old_kill_does_not_count() -> None:
    found = Recommended()
    found.kill("web-1", ago_s=48 * HOUR)
    assert found.run().memory == 380258472


def test_old_measurements_do_not_count() -> None:
    found = Recommended()
    found.metrics.age_s = HOUR
    found.run()
    assert found.reason("Measured") == "False NoMeasurement"
    assert found.reason("RecommendationProvided") == "False "


def test_a_measurement_that_stays_the_same_counts_once() -> None:
    found = Recommended().run(60)
    found.metrics.clock = ManualClock(found.clock.now())
    found.run(480)
    assert found.read(VERTICAL_CHECKPOINT, "web-c")["status"]["totalSamplesCount"] == 4


def test_unreadable_metrics_are_stated_and_the_recommendation_stays() -> None:
    found = Recommended().run()
    found.metrics.error = NotAllowedError("list pods.metrics.k8s.io", "forbidden")
    found.run(300)
    assert found.reason("Measured") == "False MetricsUnreadable"
    assert found.recommended["target"]["cpu"] == "247m"


@pytest.mark.parametrize("use", [("-1", "300Mi"), ("lots", "300Mi"), ("", "300Mi")])
def test_an_impossible_amount_is_left_out(use: tuple[str, str]) -> None:
    found = Recommended()
    found.metrics.use["web-1"] = use
    assert found.run().recommended["target"]["cpu"] == "247m"


def test_a_deleted_target_is_stated_and_its_history_stays_for_eight_days() -> None:
    found = Recommended().run()
    found.store.delete(DEPLOYMENT, [Deletion("default", "web")])
    found.run(7 * 24 * HOUR, step=HOUR)
    assert found.reason("ConfigUnsupported") == "True TargetUnreadable"
    assert found.recommended["target"]["cpu"] == "247m"
    found.run(2 * 24 * HOUR, step=HOUR)
    assert "recommendation" not in found.status
    assert found.store.get(VERTICAL_CHECKPOINT, "default", "web-c") is None


@pytest.mark.parametrize(
    "target",
    [{"kind": "CronJob", "name": "web"}, {"kind": "Deployment", "name": "other"}],
)
def test_an_unusable_target_is_stated(target: Fields) -> None:
    found = Recommended(targetRef=target).run(120)
    assert found.reason("ConfigUnsupported") == "True TargetUnreadable"
    assert found.reason("RecommendationProvided") == "False TargetUnreadable"


def test_a_target_without_pods_is_stated() -> None:
    found = Recommended()
    found.store.delete(POD, [Deletion("default", name) for name in ("web-1", "web-2")])
    found.run(120)
    assert found.reason("NoPodsMatched") == "True NoPodsMatched"
    assert found.reason("Measured") == "absent"


@pytest.mark.parametrize(
    ("mode", "stated"), [("Off", "absent"), ("Initial", "False RecommendationOnly")]
)
def test_a_mode_that_changes_pods_has_a_condition(mode: str, stated: str) -> None:
    found = Recommended(updatePolicy={"updateMode": mode}).run(120)
    assert found.reason("Applied") == stated


@pytest.mark.parametrize(
    ("names", "own", "evaluated"),
    [([], "default", True), (["x"], "default", False), (["x"], "x", True), ([], "x", False)],
)
def test_a_recommender_evaluates_its_own_objects(
    names: list[str], own: str, evaluated: bool
) -> None:
    found = Recommended(recommenders=[{"name": each} for each in names])
    found.start(own)
    found.run(120)
    assert ("recommendation" in found.status) is evaluated


@pytest.mark.parametrize(
    "status",
    [
        {"version": "v9"},
        {"cpuHistogram": {"bucketWeights": {"9999": 1}}},
        {"cpuHistogram": {"bucketWeights": {"3": -1}}},
        {"cpuHistogram": {"totalWeight": -1.0}},
        {"memoryHistogram": {"referenceTimestamp": "2999-01-01T00:00:00Z"}},
        {"memoryHistogram": {"referenceTimestamp": "soon"}},
        {"firstSampleStart": "2999-01-01T00:00:00Z"},
        {"memoryPeaks": [{"podUid": "u", "windowEnd": "2999-01-01T00:00:00Z"}]},
    ],
)
def test_an_unusable_checkpoint_starts_the_history_again(status: Fields) -> None:
    found = Recommended().run(50 * HOUR, step=600)
    change = Patch("default", "web-c", {"status": status})
    found.store.patch_status(VERTICAL_CHECKPOINT, [change])
    found.start()
    found.run(120)
    after = found.read(VERTICAL_CHECKPOINT, "web-c")["status"]
    assert (after["version"], after["totalSamplesCount"]) == ("v3", 2)


def test_another_target_has_a_history_of_its_own() -> None:
    found = Recommended().run(10 * HOUR)
    selector = {"matchLabels": {"app": "none"}}
    found.create(DEPLOYMENT, "other", spec={"selector": selector, "template": {}})
    spec = {"spec": {"targetRef": {"name": "other"}}}
    found.store.patch(VERTICAL_POD_AUTOSCALER, [Patch("default", "web", spec)])
    found.run(120)
    assert "recommendation" not in found.status


def test_an_autoscaler_that_is_deleted_is_forgotten() -> None:
    found = Recommended().run()
    found.store.delete(VERTICAL_POD_AUTOSCALER, [Deletion("default", "web")])
    found.run(120)
    assert found.store.get(VERTICAL_POD_AUTOSCALER, "default", "web") is None
