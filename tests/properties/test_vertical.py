"""A history of container use that is stored and restored is the same history."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import decode, encode

from stretto.api.types.capacity.vertical import VerticalCheckpointStatus
from stretto.capacity.vertical.bounds import recommend
from stretto.capacity.vertical.checkpoints import checkpoint_of, restored_use
from stretto.capacity.vertical.history import VerticalConfig
from stretto.capacity.vertical.workload import (
    ContainerKill,
    ContainerSample,
    PodMeasurements,
    WorkloadUse,
)

CONFIG = VerticalConfig()
START = 1_790_000_000.0
HOUR = 3600.0

sample = st.tuples(
    st.floats(0.001, 8.0), st.integers(10**7, 10**10), st.sampled_from(["a", "b"]), st.booleans()
)
history = st.lists(sample, min_size=1, max_size=60)


def play(use: WorkloadUse, samples: list[tuple[float, int, str, bool]], hour: int) -> None:
    """Add one sample each hour; some containers are killed."""
    for offset, (cores, memory, uid, killed) in enumerate(samples):
        at = START + (hour + offset) * HOUR
        kills = (ContainerKill("c", at, memory),) if killed else ()
        measured = (ContainerSample("c", at, cores, memory),)
        idle = [PodMeasurements(each, ("c",)) for each in "ab" if each != uid]
        use.observe([PodMeasurements(uid, ("c",), measured, kills), *idle])


def restarted(use: WorkloadUse, now: float) -> WorkloadUse:
    """The histories after a restart at a time."""
    stored = encode(checkpoint_of(use.uses["c"], use.windows("c", now), now))
    status = decode(stored, type=VerticalCheckpointStatus)
    found = WorkloadUse(CONFIG, now)
    found.restore("c", restored_use(status, CONFIG, "c", now))
    return found


@given(history, history)
def test_a_restart_changes_a_recommendation_by_at_most_one_bucket(
    before: list[tuple[float, int, str, bool]], after: list[tuple[float, int, str, bool]]
) -> None:
    steady = WorkloadUse(CONFIG, START)
    play(steady, before, 0)
    resumed = restarted(steady, START + (len(before) - 0.5) * HOUR)
    for each in (steady, resumed):
        play(each, after, len(before))
    wanted, found = (recommend(each.uses["c"], CONFIG, 1).target for each in (steady, resumed))
    for one, other in zip(wanted, found, strict=True):
        assert abs(one - other) <= 0.06 * max(one, other)
