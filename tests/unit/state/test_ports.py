import numpy as np

from stretto.api.types.effective_requests import ANY_ADDRESS, HostPort
from stretto.state.rows.ports import HostPorts

EVERY = HostPort(ANY_ADDRESS, "TCP", 80)
ONE = HostPort("10.0.0.1", "TCP", 80)
OTHER = HostPort("10.0.0.2", "TCP", 80)


def ports_of(*ports: HostPort) -> HostPorts:
    table = HostPorts()
    table.grow(64)
    table.learn(ports)
    return table


def test_a_port_that_is_taken_is_not_free() -> None:
    table = ports_of(ONE)
    table.take(3, [ONE])
    assert (table.free_on(3, [ONE]), table.free_on(4, [ONE])) == (False, True)


def test_another_address_protocol_or_number_does_not_conflict() -> None:
    others = [OTHER, HostPort("10.0.0.1", "UDP", 80), HostPort("10.0.0.1", "TCP", 81)]
    table = ports_of(ONE, *others)
    table.take(0, [ONE])
    assert all(table.free_on(0, [port]) for port in others)


def test_all_addresses_conflict_with_each() -> None:
    table = ports_of(EVERY, ONE, OTHER)
    table.take(0, [ONE])
    table.take(1, [EVERY])
    assert not table.free_on(0, [EVERY])
    assert not table.free_on(1, [OTHER])


def test_a_released_port_is_free() -> None:
    table = ports_of(ONE)
    table.take(0, [ONE])
    table.release(0, [ONE])
    assert table.free_on(0, [ONE])


def test_a_port_that_three_hold_is_free_after_the_last() -> None:
    table = ports_of(ONE)
    for _ in range(3):
        table.take(0, [ONE])
    left = []
    for _ in range(3):
        table.release(0, [ONE])
        left.append(table.free_on(0, [ONE]))
    assert left == [False, False, True]


def test_a_cleared_slot_keeps_no_holder() -> None:
    table = ports_of(ONE)
    table.take(0, [ONE])
    table.take(0, [ONE])
    table.clear(0)
    table.take(0, [ONE])
    table.release(0, [ONE])
    assert table.free_on(0, [ONE])


def test_the_65th_port_opens_a_second_word() -> None:
    many = [HostPort(ANY_ADDRESS, "TCP", port) for port in range(1, 66)]
    table = ports_of(*many)
    table.take(0, many[-1:])
    assert (table.words, table.known) == (2, 65)
    assert table.used[0].tolist() == [0, 1]


def test_masks_hold_a_ports_own_bit_and_all_it_conflicts_with() -> None:
    table = ports_of(EVERY, ONE, OTHER)
    assert table.own_mask([ONE]).tolist() == [0b010]
    assert table.conflict_mask([ONE]).tolist() == [0b011]
    assert table.conflict_mask([EVERY]).tolist() == [0b111]


def test_an_unknown_port_conflicts_with_nothing() -> None:
    table = ports_of(ONE)
    table.used[0] = np.uint64(1)
    assert table.free_on(0, [HostPort("10.0.0.1", "TCP", 9999)])


def test_a_reserved_number_is_in_use_for_every_port_known_and_new() -> None:
    table = ports_of(ONE)
    table.reserve(0, [(80, 90)])
    assert table.learn([OTHER, EVERY]) == [0]
    assert not any(table.free_on(0, [each]) for each in (ONE, OTHER, EVERY))
    table.reserve(0, [])
    assert table.free_on(0, [EVERY])


def test_a_reserved_number_that_a_pod_uses_is_contended() -> None:
    table = ports_of(ONE)
    table.reserve(0, [(80, 80)])
    assert not table.is_contended(0)
    table.take(0, [ONE])
    assert table.is_contended(0)
    assert not table.would_be_free(0, [EVERY])


def test_only_reserved_numbers_are_in_the_way() -> None:
    table = ports_of(ONE)
    table.reserve(0, [(80, 80)])
    assert table.would_be_free(0, [ONE])
    assert not table.free_on(0, [ONE])


def test_numbers_in_use_are_found_within_ranges() -> None:
    table = ports_of(ONE, HostPort(ANY_ADDRESS, "UDP", 81))
    table.take(0, [ONE])
    assert table.numbers_on(0, [(80, 81)]) == {80}
