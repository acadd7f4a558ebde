"""Operations of a simulated framework on an offer: tasks, reservations and volumes."""

from typing import Any, Final

from stretto.base.rng import Rng

Body = dict[str, Any]
PRINCIPAL: Final = "p"
"""Principal of all frameworks."""
_AMOUNTS: Final = {"cpus": (0.5, 1.0, 1.5), "mem": (128.0,), "gpus": (1.0, 2.0), "disk": (256.0,)}
"""Amounts of a task or a reservation, by name."""
_EXECUTOR: Final = {"cpus": 0.1, "mem": 32.0, "disk": 1.0}
"""Amounts of the executor of a group."""
_FITTING: Final = 0.9
"""Probability that an amount is at most that of the offer."""


def drawn_task(rng: Rng, name: str, offer: Body, most: float) -> Body:
    """A task for an offer, usually for a part of it; a few tasks need more than the offer has."""
    wanted = ["cpus", "mem"] + [each for each in ("gpus", "disk", "ports") if rng.random() < 0.2]
    found = [_part(rng, _named(offer, each), most) for each in wanted if _named(offer, each)]
    return {
        "name": name,
        "task_id": {"value": name},
        "agent_id": offer["agent_id"],
        "resources": found,
        "command": {"value": "sleep 1"},
    }


def launch_of(tasks: list[Body]) -> Body:
    """The launch of tasks."""
    return {"type": "LAUNCH", "launch": {"task_infos": tasks}}


def drawn_group(rng: Rng, tasks: list[Body], framework_id: str) -> Body:
    """The launch of tasks as one group; an executor may serve several groups."""
    executor = {
        "type": "DEFAULT",
        "executor_id": {"value": f"e{rng.randint(0, 1)}"},
        "framework_id": {"value": framework_id},
        "resources": [
            {"name": name, "type": "SCALAR", "scalar": {"value": amount}}
            for name, amount in _EXECUTOR.items()
        ],
    }
    group = {"executor": executor, "task_group": {"tasks": tasks}}
    return {"type": "LAUNCH_GROUP", "launch_group": group}


def drawn_operations(rng: Rng, offer: Body) -> list[Body]:
    """At most one operation on reservations and volumes."""
    role = offer["allocation_info"]["role"]
    items = [each for each in offer["resources"] if each["type"] == "SCALAR"]
    if role == "*" or not items or rng.random() < 0.5:
        return []
    item = rng.choice(items)
    if not item.get("reservations"):
        mine = {"type": "DYNAMIC", "role": role, "principal": PRINCIPAL}
        part = _part(rng, [item]) | {"reservations": [mine]}
        return [{"type": "RESERVE", "reserve": {"resources": [part]}}]
    if "disk" in item:
        return [{"type": "DESTROY", "destroy": {"volumes": [item]}}]
    if item["name"] == "disk" and rng.random() < 0.5:
        return [{"type": "CREATE", "create": {"volumes": [_volume(rng, item)]}}]
    return [{"type": "UNRESERVE", "unreserve": {"resources": [item]}}]


def _volume(rng: Rng, item: Body) -> Body:
    """A persistent volume on a reserved disk."""
    persistence = {"id": f"v{rng.randint(0, 1 << 30)}", "principal": PRINCIPAL}
    disk = {"persistence": persistence, "volume": {"container_path": "data", "mode": "RW"}}
    return item | {"disk": disk}


def _part_of(value: float, most: float) -> float:
    """A part of an amount, in tenths of CPUs and whole megabytes."""
    return float(int(most * value)) if most * value >= 10 else round(most * value, 1)


def _named(offer: Body, name: str) -> list[Body]:
    return [each for each in offer["resources"] if each["name"] == name]


def _part(rng: Rng, items: list[Body], most: float = 1.0) -> Body:
    """A part of one of these resources; a volume is used as a whole."""
    item = rng.choice(items)
    if item["type"] == "RANGES":
        chosen = rng.choice(item["ranges"]["range"])
        number = rng.randint(chosen["begin"], chosen["end"])
        return item | {"ranges": {"range": [{"begin": number, "end": number}]}}
    if "disk" in item:
        return item
    amount = rng.choice(_AMOUNTS[item["name"]])
    if rng.random() < _FITTING:
        value = item["scalar"]["value"]
        amount = min(amount, value if most == 1.0 else _part_of(value, most))
    return item | {"scalar": {"value": amount}}
