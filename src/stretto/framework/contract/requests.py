"""Requests of a class in units of the scan columns, as formulas need them."""

import numpy as np

from stretto.framework.compiled.amounts import ResourceAmount
from stretto.framework.compiled.devices import DeviceDemand, DeviceSlots
from stretto.framework.contract.rule import SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU, PODS

FIRST_KIND = 1
"""Device kind number for pods that request no devices: the first known kind."""


def scaled_requests(pod: PodClass, view: View) -> dict[int, int]:
    """Requests of a class in scan steps by resource column, including one pod slot."""
    scale = view.columns.ledger.resources.scaled_request
    requests = {column: scale(column, amount) for column, amount in pod.requests}
    requests[PODS] = 1
    return requests


def amount_of(pod: PodClass, view: View, name: str, slots: SlotArray) -> ResourceAmount:
    """Amounts of a resource on some slots, and the class's request; zeros if no node has it."""
    columns = view.columns
    column = columns.ledger.resources.known(name)
    if column is None or column >= len(columns.free):
        size = len(slots)
        return ResourceAmount(np.zeros(size, np.int32), np.zeros(size, np.float32), 0)
    requested = scaled_requests(pod, view).get(column, 0)
    return ResourceAmount(columns.free[column, slots], columns.percent[column, slots], requested)


def devices_of(view: View, slots: SlotArray) -> DeviceSlots:
    """The device columns of some slots."""
    columns = view.columns
    return DeviceSlots(
        columns.device_free[slots], columns.device_kind[slots], columns.device_model[slots]
    )


def wanted_of(pod: PodClass, view: View, request: int = 0) -> DeviceDemand:
    """CPU and one device request of a class; no devices if it requests none."""
    cpu = scaled_requests(pod, view).get(CPU, 0)
    if request >= len(pod.devices):
        return DeviceDemand(cpu, 0, 0, FIRST_KIND, 0)
    requested = pod.devices[request]
    numbers = view.columns.ledger.devices
    kind, models = numbers.kind_number(requested.kind), numbers.model_mask(requested.models)
    return DeviceDemand(cpu, requested.count, requested.milli, kind, models)
