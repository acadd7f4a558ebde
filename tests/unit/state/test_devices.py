import pytest

from stretto.base.errors import InputError
from stretto.state.rows.devices import (
    MAX_MODELS,
    MAX_REQUESTED_MODELS,
    WHOLE,
    DeviceColumns,
    DeviceRequest,
    mask_to_text,
    text_to_mask,
)

GPU, NIC = "nvidia.com/gpu", "x.io/nic"


def devices_of(gpus: int = 4, model: str = "A", nics: int = 0) -> DeviceColumns:
    table = DeviceColumns()
    table.grow(64)
    table.install(0, GPU, gpus, model)
    if nics:
        table.install(0, NIC, nics, "")
    return table


def whole(count: int = 1, *models: str) -> DeviceRequest:
    return DeviceRequest(GPU, count, WHOLE, models)


def share(milli: int) -> DeviceRequest:
    return DeviceRequest(GPU, 1, milli)


def test_devices_are_whole_when_they_come() -> None:
    assert devices_of(2).free[0, :3].tolist() == [WHOLE, WHOLE, 0]


def test_kinds_lie_side_by_side() -> None:
    table = devices_of(2, nics=1)
    assert table.inventory(0) == {GPU: (2, "A"), NIC: (1, "")}
    assert table.kind[0, :4].tolist() == [1, 1, 2, 0]


def test_releasing_is_the_inverse_of_charging() -> None:
    table = devices_of()
    table.take(0, 0b101, whole(2))
    table.take(0, 0b010, share(300))
    table.take(0, 0b101, whole(2), -1)
    table.take(0, 0b010, share(300), -1)
    assert table.free[0, :4].tolist() == [WHOLE] * 4
    assert not table.census[0].any()


def test_charging_counts_pods_by_form() -> None:
    table = devices_of()
    table.take(0, 0b0011, whole(2))
    table.take(0, 0b0100, share(300))
    assert (table.census[0, 0], table.census[0, 2]) == (1, 1)


def test_a_mask_touches_its_own_kind_only() -> None:
    table = devices_of(2, nics=2)
    table.take(0, 0b0101, whole())
    assert table.free[0, :4].tolist() == [0, WHOLE, WHOLE, WHOLE]


def test_the_guess_is_the_fullest_device_that_fits() -> None:
    table = devices_of()
    table.take(0, 0b0010, share(500))
    table.take(0, 0b0100, share(900))
    assert table.guess(0, share(300)) == 0b0010


def test_the_guess_names_some_device_even_when_none_fits() -> None:
    table = devices_of(1)
    table.take(0, 1, whole())
    assert table.guess(0, whole()) == 1


def test_a_mask_covers_if_count_kind_model_and_capacity_match() -> None:
    table = devices_of()
    assert table.covers(0, 0b11, whole(2))
    assert not table.covers(0, 0b1, whole(2))
    assert not table.covers(0, 0b11, whole(2, "B"))


def test_a_device_in_use_does_not_cover_a_whole_one() -> None:
    table = devices_of()
    table.take(0, 1, share(1))
    assert (table.covers(0, 1, whole()), table.covers(0, 1, share(999))) == (False, True)


def test_no_models_means_any() -> None:
    table = devices_of(model="A")
    assert table.model_mask(()) >> table.model_number("A") & 1


def test_a_63rd_model_is_refused() -> None:
    table = DeviceColumns()
    for number in range(MAX_MODELS):
        table.model_number(f"m{number}")
    with pytest.raises(InputError, match="at most 62 different models"):
        table.model_number("one more")


def test_models_that_only_pods_name_keep_numbers_free_for_nodes() -> None:
    table = DeviceColumns()
    masks = [table.model_mask((f"wish{n}",)) for n in range(100)]
    assert len(table.model_names) == MAX_REQUESTED_MODELS + 1
    assert masks[-1] == 0
    assert table.model_number("real") == MAX_REQUESTED_MODELS + 1


def test_a_cleared_slot_has_no_device() -> None:
    table = devices_of()
    table.take(0, 1, whole())
    table.clear(0)
    assert table.inventory(0) == {}
    assert not table.census[0].any()


def test_a_note_and_a_mask_mean_the_same() -> None:
    assert (mask_to_text(0b1001), text_to_mask("0,3")) == ("0,3", 0b1001)


@pytest.mark.parametrize("text", ["", "x", "16", "-1", "1.5", "\u00b2", "9" * 5000, ",,"])
def test_unreadable_parts_of_a_note_are_ignored(text: str) -> None:
    assert text_to_mask(f"{text}, 2 ,2") == 0b100
