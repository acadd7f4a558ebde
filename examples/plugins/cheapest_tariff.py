"""Prefers nodes of the cheapest tariff: a score from a node label, in ten lines."""

from stretto.framework.contract.labels import label_numbers
from stretto.framework.contract.rule import Scope, ScoreRule


class CheapestTariff(ScoreRule):
    """100 minus the price of the node in cents per hour."""

    NAME, SCOPE = "CheapestTariff", Scope.STATIC

    def signature(self, pod):
        return self.NAME

    def score(self, pod, view, slots):
        return 100 - label_numbers(view, "example.com/cents-per-hour", slots, default=100)
