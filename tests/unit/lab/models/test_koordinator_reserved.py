"""Koordinator's reserved amounts of a node."""

import pytest

from stretto_lab.models.koordinator.reserved import NodeReservation


@pytest.mark.parametrize("cpus", ["0-", "0,", "0,,1", " 1", "0-1-2", "1_0", "0-4097"])
def test_an_unreadable_list_of_cpus_reserves_nothing(cpus: str) -> None:
    assert NodeReservation(500, 7, cpus).amounts() == (0, 0)


def test_a_list_of_cpus_replaces_the_reserved_amount() -> None:
    assert NodeReservation(500, 7, "0-3,2-5,+9,3-1").amounts() == (7_000, 7)
