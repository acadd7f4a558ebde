"""Koordinator's evictions for memory beyond those of best-effort pods."""

from stretto.capacity.model.classes import Band
from stretto_lab.models.koordinator import eviction
from stretto_lab.models.koordinator.eviction import MarkedPod, RequestLimit

GIB = 2**30
PODS = [MarkedPod(name, used=float(GIB), band=Band.BATCH, enabled=True) for name in "abc"]


def test_one_pod_is_enough_because_thousandths_of_bytes_count() -> None:
    gone: list[str] = []
    eviction.evict(
        [eviction.memory_round(PODS, 5999, 2 * GIB)], lambda pod, _: not gone.append(pod)
    )
    assert gone == ["a"]


def test_an_eviction_that_fails_frees_nothing() -> None:
    tried: list[str] = []
    attempt = lambda name, _: bool(tried.append(name)) or name == "b"
    eviction.evict([eviction.memory_round(PODS, 5999, GIB)], attempt)
    assert tried == ["a", "b"]


def test_pods_without_reclaimed_memory_count_by_their_plain_memory() -> None:
    pods = [MarkedPod("a", band=Band.FREE, requests={"memory": 9})]
    limit = RequestLimit(threshold=80, lower=50, priority=5999)
    assert limit.to_free(pods, {"memory": 10}) == {"memory": 4}
