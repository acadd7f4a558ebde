"""Limits the cores in use per rack: a filter over domains, which depends on other nodes."""

import numpy as np

from stretto.base.errors import InputError
from stretto.framework.contract.labels import label_domains
from stretto.framework.contract.rule import FilterRule, Scope
from stretto.state.rows.resources import CPU
from stretto.state.work.units import Cure


class RackPower(FilterRule):
    """Filters nodes in racks whose cores in use would exceed the argument ``cores``."""

    NAME, SCOPE = "RackPower", Scope.DOMAIN
    CURES = Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_LABELS
    REASON = "node(s) in a rack without power"

    def __init__(self, args):
        super().__init__(args)
        if not isinstance(args.get("cores"), int):
            raise InputError("RackPower: cores", args.get("cores"), "the number of cores per rack")

    def filter(self, pod, view, slots):
        racks, columns = label_domains(view, "example.com/rack"), view.columns
        used = (columns.alloc[CPU] - columns.free[CPU]) * (columns.live > 0)
        requested = dict(pod.requests).get(CPU, 0)
        full = np.bincount(racks, weights=used) + requested > 1000 * self.args["cores"]
        return ~full[racks[slots]] | (racks[slots] == 0)
