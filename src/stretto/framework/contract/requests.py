"""A class's requests in units of the scan columns, as formulas take them."""

import numpy as np

from stretto.framework.compiled.amounts import ResourceAmount
from stretto.framework.compiled.devices import DeviceDemand, DeviceSlots
from stretto.framework.contract.rule import SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU, PODS

FIRST_KIND = 1
"""Device kind number for pods that request none: the first known kind."""


def scaled_asks(pod: PodClass, view: View) -> dict[int, int]:
    """A class's requests in scan steps by resource column, one pod place included."""
    scale = view.columns.ledger.resources.scaled_request
    asks = {column: scale(column, amount) for column, amount in pod.requests}
    asks[PODS] = 1
    return asks


def amount_of(pod: PodClass, view: View, name: str, slots: SlotArray) -> ResourceAmount:
    """A resource of some slots and the class's request; zeros where no node has it."""
    columns = view.columns
    column = columns.ledger.resources.known(name)
    if column is None or column >= len(columns.free):
        size = len(slots)
        return ResourceAmount(np.zeros(size, np.int32), np.zeros(size, np.float32), 0)
    ask = scaled_asks(pod, view).get(column, 0)
    return ResourceAmount(columns.free[column, slots], columns.percent[column, slots], ask)


def devices_of(view: View, slots: SlotArray) -> DeviceSlots:
    """The device columns of some slots."""
    columns = view.columns
    return DeviceSlots(
        columns.device_free[slots], columns.device_kind[slots], columns.device_model[slots]
    )


def wanted_of(pod: PodClass, view: View, request: int = 0) -> DeviceDemand:
    """A class's CPU and one of its device requests; no devices where it requests none."""
    cpu = scaled_asks(pod, view).get(CPU, 0)
    if request >= len(pod.devices):
        return DeviceDemand(cpu, 0, 0, FIRST_KIND, 0)
    asked = pod.devices[request]
    numbers = view.columns.ledger.devices
    kind, models = numbers.kind_number(asked.kind), numbers.model_mask(asked.models)
    return DeviceDemand(cpu, asked.count, asked.milli, kind, models)
