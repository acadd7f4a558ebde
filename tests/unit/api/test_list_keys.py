"""Keys of lists in schemas: their number is limited, because each error quotes all of them."""

from stretto.api.checks.kinds.extension.lists import check_collections


def test_a_list_has_at_most_16_keys() -> None:
    keys = [f"k{number}" for number in range(40_000)]
    names = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    (error,) = check_collections({"type": "array", "items": {"type": "object"}, **names}, "f")
    assert error.field == "f.x-kubernetes-list-map-keys"
    assert error.message == "Too many: 40000: must have at most 16 items"
