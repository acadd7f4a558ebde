"""Lists of resources in Mesos' order."""

from stretto.offers.master.resources import formats
from stretto.offers.master.resources.formats import ResourceFormat
from stretto.offers.master.resources.items import ResourceList


def scalar(name: str, value: float, **fields: object) -> dict[str, object]:
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}, **fields}


def ports(*ranges: tuple[int, int]) -> dict[str, object]:
    pairs = [{"begin": begin, "end": end} for begin, end in ranges]
    return {"name": "ports", "type": "RANGES", "ranges": {"range": pairs}}


def resources(*messages: dict[str, object]) -> ResourceList:
    return formats.read(messages)


def test_an_item_that_becomes_empty_is_replaced_by_the_last_one() -> None:
    have = resources(ports((1, 9)), scalar("cpus", 4), scalar("mem", 64), scalar("disk", 1))
    left = have - resources(ports((1, 9)), scalar("cpus", 1))
    assert formats.text(left) == "disk:1; cpus:3; mem:64"


def test_scalars_are_exact_to_three_decimals() -> None:
    tenth = resources(scalar("cpus", 0.1))
    assert formats.text(tenth + tenth + tenth - resources(scalar("cpus", 0.2))) == "cpus:0.1"


def test_ranges_split_and_join() -> None:
    left = resources(ports((1, 10))) - resources(ports((4, 5)))
    assert formats.text(left) == "ports:[1-3, 6-10]"
    assert formats.text(left + resources(ports((4, 5)))) == "ports:[1-10]"


def test_contains_compares_kinds_and_amounts() -> None:
    have = resources(scalar("cpus", 2), ports((1, 10)))
    assert have.contains(resources(scalar("cpus", 2), ports((2, 3))))
    assert not have.contains(resources(scalar("cpus", 2.001)))
    assert not have.contains(resources(scalar("cpus", 1, allocation_info={"role": "web"})))


def test_both_formats_of_a_reservation_are_read_alike() -> None:
    old = resources(scalar("cpus", 1, role="db", reservation={"principal": "p"}))
    stack = [{"type": "DYNAMIC", "role": "db", "principal": "p"}]
    assert old == resources(scalar("cpus", 1, reservations=stack))
    assert formats.text(old) == "cpus(reservations: [(DYNAMIC,db,p)]):1"


def test_the_older_format_writes_role_and_reservation() -> None:
    stack = [{"type": "DYNAMIC", "role": "db", "principal": "p"}]
    (written,) = formats.write(
        resources(scalar("cpus", 1, reservations=stack)), ResourceFormat.ROLE
    )
    assert (written["role"], written["reservation"]) == ("db", {"principal": "p"})
    assert "reservations" not in written


def test_persistent_volumes_stay_apart() -> None:
    volume = {"persistence": {"id": "v1"}, "volume": {"mode": "RW", "container_path": "data"}}
    have = resources(scalar("disk", 5, disk=volume), scalar("disk", 5, disk=volume))
    assert formats.text(have) == "disk[v1:data]:5; disk[v1:data]:5"
