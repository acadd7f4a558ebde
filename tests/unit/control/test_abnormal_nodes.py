"""Rounds after which a hot node is unloaded."""

from stretto.control.controllers.hot_nodes.anomalies import AbnormalNodes
from stretto.framework.profile.capacity.hot_nodes import AnomalyRule

NODE = (0, 1)


class Rounds:
    """A node in rounds of 60 seconds; ``play`` takes H for hot, n for normal and i for idle."""

    def __init__(self, abnormal: int = 2, normal: int = 0, timeout: float = 60.0) -> None:
        self.nodes = AbnormalNodes(AnomalyRule(abnormal, normal, timeout))
        self.now = 0.0

    def play(self, rounds: str, *, unload: bool = True) -> str:
        """Return ! for each round in which the node is abnormal."""
        return "".join(self.one(each, unload=unload) for each in rounds)

    def one(self, load: str, *, unload: bool) -> str:
        self.now += 60.0
        hot, idle = [NODE] * (load == "H"), {NODE} if load == "i" else set()
        acts = self.nodes.count(self.now, hot, idle) == [True]
        if acts and unload:
            self.nodes.end(self.now, [NODE])
        return "!" if acts else "."


def test_a_node_acts_in_the_round_after_so_many_hot_rounds() -> None:
    assert Rounds(abnormal=2).play("HHHHHH") == "..!..!"


def test_with_one_abnormal_round_a_node_acts_in_every_hot_round() -> None:
    assert Rounds(abnormal=1).play("HHnH") == "!!.!"


def test_a_normal_round_ends_the_count() -> None:
    assert Rounds(abnormal=2).play("HHnHHH") == ".....!"


def test_an_abnormal_node_acts_until_its_timeout() -> None:
    assert Rounds(abnormal=2, timeout=120.0).play("HHHHHHH", unload=False) == "..!!!.."


def test_so_many_normal_rounds_keep_a_node_abnormal() -> None:
    rounds = Rounds(abnormal=2, normal=1, timeout=600.0)
    assert rounds.play("HHHnHnnH", unload=False) == "..!.!..."


def test_a_round_with_moves_is_one_normal_round() -> None:
    assert Rounds(abnormal=2, normal=0, timeout=600.0).play("HHHHHH") == "..!..!"
    assert Rounds(abnormal=2, normal=1, timeout=600.0).play("HHHHHH") == "..!!!!"


def test_an_idle_node_is_reset() -> None:
    assert Rounds(abnormal=2, normal=5, timeout=600.0).play("HHHiHHH") == "..!...!"
