"""Quantities mean what Kubernetes' own parser makes of them."""

import pytest

from stretto.api.wire import quantity
from stretto.base.errors import InputError


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0),
        ("-0", 0),
        ("1", 1),
        ("+1", 1),
        ("5.", 5),
        (".5", 1),
        ("1n", 1),
        ("1001m", 2),
        ("-1500m", -2),
        ("1k", 1000),
        ("2M", 2 * 10**6),
        ("2G", 2 * 10**9),
        ("2T", 2 * 10**12),
        ("2P", 2 * 10**15),
        ("2E", 2 * 10**18),
        ("1Ki", 1024),
        ("1.5Mi", 3 << 19),
        ("1Gi", 1 << 30),
        ("1Ti", 1 << 40),
        ("1Pi", 1 << 50),
        ("1Ei", 1 << 60),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e-3", 1),
        ("12e+2", 1200),
        (3, 3),
        (0.25, 1),
    ],
)
def test_a_quantity_reads_as_units_rounded_away_from_zero(
    text: str | int | float, units: int
) -> None:
    assert quantity.value(text, "x") == units


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [("500m", 500), ("2", 2000), ("0.1", 100), ("1u", 1), ("100001u", 101), ("-1u", -1), (2, 2000)],
)
def test_a_quantity_reads_as_thousandths(text: str | int, thousandths: int) -> None:
    assert quantity.milli(text, "x") == thousandths


def test_a_binary_quantity_beyond_64_bits_is_capped_as_kubernetes_does() -> None:
    assert quantity.value("16Ei", "x") == quantity.INT64_MAX


@pytest.mark.parametrize("text", ["10E", "1e30", "1e999999999", "-9223372036854775808"])
def test_a_decimal_quantity_beyond_64_bits_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="largest amount in 64 bits"):
        quantity.value(text, "spec.x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1x",
        "1 ",
        " 1",
        "1\n",
        "+",
        "m",
        "1e",
        "1mi",
        "1KI",
        "1,5",
        "0x10",
        "1_0",
        "٣",
        "1" * 200,
    ],
)
def test_what_is_no_quantity_is_refused_with_the_path_and_an_example(text: str) -> None:
    with pytest.raises(InputError) as refused:
        quantity.milli(text, "spec.containers[0].resources.requests.cpu")
    assert "spec.containers[0].resources.requests.cpu" in str(refused.value)
    assert "a quantity such as 500m or 2" in str(refused.value)


@pytest.mark.parametrize("something", [True, None, [], {}, float("nan"), float("inf")])
def test_values_that_are_neither_text_nor_number_are_refused(something: object) -> None:
    with pytest.raises(InputError):
        quantity.value(something, "x")  # type: ignore[arg-type]


def test_true_is_refused_even_after_1_was_remembered() -> None:
    quantity.value(1, "x")
    with pytest.raises(InputError):
        quantity.value(True, "x")


def test_a_tiny_amount_requests_the_smallest_unit() -> None:
    assert quantity.value("1e-300", "x") == 1


def test_nano_is_exact() -> None:
    assert quantity.nano("1.000000001", "x") == 1_000_000_001


def test_a_resource_list_counts_cpu_in_thousandths_and_the_rest_in_units() -> None:
    counted = quantity.amounts({"cpu": "1", "memory": "1Ki", "nvidia.com/gpu": 2}, "x")
    assert counted == {"cpu": 1000, "memory": 1024, "nvidia.com/gpu": 2}


def test_a_resource_list_names_the_resource_that_is_wrong() -> None:
    with pytest.raises(InputError, match=r"status\.allocatable\.memory"):
        quantity.amounts({"cpu": "1", "memory": "lots"}, "status.allocatable")


@pytest.mark.parametrize(
    ("thousandths", "text"),
    [(0, "0"), (1, "1m"), (1500, "1500m"), (2000, "2"), (2_000_000, "2k"), (-500, "-500m")],
)
def test_thousandths_print_canonically(thousandths: int, text: str) -> None:
    assert quantity.format_milli(thousandths) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (512, "512"), (1000, "1k"), (1024, "1Ki"), (1025, "1025"), (1 << 30, "1Gi")],
)
def test_bytes_print_canonically(count: int, text: str) -> None:
    assert quantity.format_bytes(count) == text


@pytest.mark.parametrize(
    ("resource", "count", "text"),
    [
        ("cpu", 250, "250m"),
        ("memory", 1 << 20, "1Mi"),
        ("hugepages-2Mi", 2 << 20, "2Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 110, "110"),
    ],
)
def test_an_amount_prints_in_the_style_of_its_resource(
    resource: str, count: int, text: str
) -> None:
    assert quantity.format_amount(resource, count) == text


@pytest.mark.parametrize("text", ["512MB", "512mb", "1 GiB", "2K"])
def test_an_unknown_suffix_is_named(text: str) -> None:
    unit = text.lstrip("0123456789 ")
    with pytest.raises(InputError, match=f"{unit} is not a suffix, use k, M, G, Ki, Mi or Gi"):
        quantity.amount("memory", text, "x")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000m", "1"),
        ("-1500m", "-1500m"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1.0001Ki", "1024102400u"),
        ("1500e6", "1500e6"),
        ("10E39", "10e39"),
        ("0.5e0", "500e-3"),
        ("0Ki", "0"),
        ("16Ei", "9223372036854775807"),
    ],
)
def test_a_text_becomes_canonical_in_its_own_notation(text: str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1.125", "1.125"),
        ("1.5", "1500m"),
        ("0.125", "125m"),
        ("+1", "+1"),
        ("3.", "3."),
        ("007", "007"),
        ("2E3", "2E3"),
        ("1e6", "1e6"),
        ("1.000", "1"),
        ("011Gi", "011Gi"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        (" 1 ", "1"),
        ("M", "0"),
        (".", "0"),
    ],
)
def test_a_quantity_is_kept_as_by_kube_apiserver(text: str, kept: str) -> None:
    assert quantity.kept_text(text) == kept


@pytest.mark.parametrize("unit", ["", *"numkMGT", "Ki", "Mi", "Gi", "Ti"])
def test_a_text_that_is_recognized_as_canonical_is_the_form_of_its_amount(unit: str) -> None:
    for number in (1, 10, 999, 1000, 1010, 1024, 1536, 10_000, 10_001, 123_456_789, 10**9):
        text = f"{number}{unit}"
        form = quantity.format_nano(quantity.nano(text, "x"), quantity.notation_of(text))
        assert quantity.canonical(text) == form
        assert quantity.kept_text(form) == form
