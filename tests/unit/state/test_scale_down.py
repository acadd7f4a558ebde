"""Which pods are removed when an application shrinks: caps, zones and nodes stay balanced."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.labels import HOSTNAME_LABEL, ZONE_LABEL
from stretto.state.classes.annotations import DomainCap
from stretto.state.queries.scale_down import PlacedPod, removals

SWITCH = "example.com/switch"
QUARTER = DomainCap(SWITCH, percent=25)


def on(switch: str = "", zone: str = "", host: str = "h", **more: object) -> PlacedPod:
    return PlacedPod({SWITCH: switch, ZONE_LABEL: zone, HOSTNAME_LABEL: host}, **more)  # type: ignore[arg-type]


def left(pods: list[PlacedPod], count: int, *caps: DomainCap) -> list[PlacedPod]:
    gone = removals(pods, count, caps)
    return [pod for number, pod in enumerate(pods) if number not in gone]


def test_pods_without_a_node_go_first_then_those_that_are_not_ready() -> None:
    pods = [on("a"), on("a", is_ready=False), PlacedPod()]
    assert removals(pods, 3) == [2, 1, 0]


def test_the_cap_of_the_smaller_application_holds_afterwards() -> None:
    pods = [on(switch) for switch in "aabbccdd"]
    assert Counter(pod.labels[SWITCH] for pod in left(pods, 4, QUARTER)) == {
        "a": 1,
        "b": 1,
        "c": 1,
        "d": 1,
    }


def test_the_fullest_zone_shrinks_first() -> None:
    pods = [on(zone=zone) for zone in "aaabbc"]
    assert Counter(pod.labels[ZONE_LABEL] for pod in left(pods, 3)) == {"a": 1, "b": 1, "c": 1}


def test_of_equal_zones_the_fullest_and_then_the_busiest_node_shrinks() -> None:
    pods = [on(host="x"), on(host="y"), on(host="y")]
    assert removals(pods, 1) == [1]
    assert removals([on(host="x", load=0.2), on(host="y", load=0.9)], 1) == [1]


def test_of_equal_pods_the_youngest_goes() -> None:
    assert removals([on(created_s=1.0), on(created_s=2.0)], 1) == [1]


@pytest.mark.parametrize("count", [0, 3, 9])
def test_so_many_pods_are_removed_as_there_are(count: int) -> None:
    assert len(removals([on("a")] * 3, count)) == min(count, 3)


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=24), st.integers(0, 24))
def test_no_switch_is_beyond_its_cap_if_others_can_shrink_instead(
    switches: list[str], count: int
) -> None:
    pods = [on(switch) for switch in switches]
    remaining = left(pods, count, QUARTER)
    limit = QUARTER.limit(len(remaining))
    before, after = Counter(switches), Counter(pod.labels[SWITCH] for pod in remaining)
    excess = sum(max(number - limit, 0) for number in before.values())
    assert sum(max(number - limit, 0) for number in after.values()) == max(excess - count, 0)


@given(st.lists(st.sampled_from("abc"), min_size=3, max_size=24), st.integers(0, 20))
def test_zones_never_become_less_balanced(zones: list[str], count: int) -> None:
    pods = [on(zone=zone) for zone in zones]
    before = Counter(zones)
    after = Counter(dict.fromkeys(before, 0))
    after.update(pod.labels[ZONE_LABEL] for pod in left(pods, count))
    assert max(after.values()) - min(after.values()) <= max(
        max(before.values()) - min(before.values()), 1
    )
