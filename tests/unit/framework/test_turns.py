"""Pods of a unit that are placed one by one."""

from stretto.framework.engine.turns import place_members

A, B = 1, 2


def tried(classes: list[int], goal: int, fits: set[int]) -> list[int]:
    """The indices of the pods that are tried; those in ``fits`` fit."""
    found: list[int] = []

    def place(i: int) -> bool:
        found.append(i)
        return i in fits

    place_members(classes, goal, place)
    return found


def test_a_class_that_does_not_fit_is_skipped() -> None:
    assert tried([A, A, B], 1, set()) == [0, 2]


def test_a_class_that_does_not_fit_is_tried_again_after_a_pod_that_fits() -> None:
    assert tried([A, B, A], 1, {1}) == [0, 1, 2]


def test_the_pods_are_tried_until_the_goal_is_out_of_reach() -> None:
    assert tried([A, B, B], 3, {1, 2}) == [0]


def test_the_result_is_the_number_of_placed_pods() -> None:
    assert place_members([A, A, B], 1, lambda i: i != 1) == 2
