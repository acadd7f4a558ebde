import pytest

from stretto.base.errors import InputError
from stretto.state.rows.resources import (
    CPU,
    FIRST_NAMES,
    LARGEST,
    MIB,
    NEVER,
    SCAN_LIMIT,
    ResourceColumns,
    check_amounts,
)


def test_the_resources_that_every_node_has_come_first() -> None:
    resources = ResourceColumns()
    assert [resources.column(name) for name in FIRST_NAMES] == [0, 1, 2, 3]


def test_a_new_name_gets_a_column_once() -> None:
    resources = ResourceColumns()
    assert resources.known("x.io/a") is None
    assert (resources.column("x.io/a"), resources.column("x.io/a"), len(resources)) == (4, 4, 5)
    assert resources.known("x.io/a") == 4


def test_huge_pages_count_in_mebibytes() -> None:
    resources = ResourceColumns()
    assert resources.steps[resources.column("hugepages-2Mi")] == MIB


def test_a_request_is_rounded_up_to_whole_steps() -> None:
    assert ResourceColumns().scaled_request(1, MIB + 1) == 2


def test_a_request_beyond_every_capacity_is_never() -> None:
    assert ResourceColumns().scaled_request(CPU, SCAN_LIMIT + 1) == NEVER


def test_a_capacity_that_is_too_large_makes_the_steps_coarser() -> None:
    resources = ResourceColumns()
    column = resources.column("x.io/bytes")
    resources.ensure_columns(column, SCAN_LIMIT * 1024 + 1024)
    assert (resources.steps[column], resources.epoch) == (1024**2, 2)


def test_a_capacity_that_fits_changes_nothing() -> None:
    resources = ResourceColumns()
    resources.ensure_columns(resources.column("x.io/a"), SCAN_LIMIT)
    assert (resources.steps[4], resources.epoch) == (1, 0)


def test_an_absurd_node_does_not_blur_the_cores_of_others() -> None:
    resources = ResourceColumns()
    resources.ensure_columns(CPU, LARGEST)
    assert (resources.steps[CPU], resources.epoch) == (1, 0)


@pytest.mark.parametrize("amount", [-1, LARGEST + 1])
def test_amounts_that_would_spoil_sums_are_refused_by_name(amount: int) -> None:
    with pytest.raises(InputError, match="pod a memory"):
        check_amounts({"cpu": 1, "memory": amount}, "pod a")


def test_steps_come_as_an_array() -> None:
    assert ResourceColumns().step_array().tolist() == [1, MIB, MIB, 1]
