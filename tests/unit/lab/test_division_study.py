"""The division study: the default division is nearest, monotone, and drops nothing."""

from stretto_lab.studies.division import DivisionFigures, measure


def test_the_default_division_is_better_than_both() -> None:
    found = {(each.planner, each.limits): each for each in measure(6, seed=2)}
    for limits in (False, True):
        ours, theirs = found["default", limits], found["KubeAdmiral", limits]
        assert ours.distance < theirs.distance
        assert (ours.outside_quota, ours.not_monotone, ours.dropped) == (0, 0, 0)
        assert ours.started + ours.stopped == ours.necessary
    assert found["default", False].farthest <= found["Karmada, static weights", False].farthest


def test_the_same_seed_gives_the_same_figures() -> None:
    one, other = (list(measure(1, seed=3)) for _ in range(2))
    assert one == other
    assert isinstance(one[0], DivisionFigures)
