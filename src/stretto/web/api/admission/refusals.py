"""Conversion between API requests and the admission that scenarios and plans share."""

from typing import Any

from stretto.api.admission.request import AdmissionRequest, ForbiddenError, Operation
from stretto.base.errors import InputError
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.state import AdmittedWrite

Json = dict[str, Any]


def request_of(admission: AdmittedWrite) -> AdmissionRequest:
    """Return a write as a request of the shared admission."""
    operation = Operation.CREATE if admission.operation == "CREATE" else Operation.UPDATE
    item = admission.item or {}
    return AdmissionRequest(
        admission.resource.stored, item, operation, admission.call.route.namespace
    )


class Refusals:
    """Context manager that converts refusals of the shared admission to API failures."""

    def __init__(self, call: Call, item: Json) -> None:
        """Convert the refusals of one write of an object."""
        self._call = call
        self._name = item["metadata"].get("name", "")

    def __enter__(self) -> None:
        """Do nothing on entry."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        resource = self._call.resource
        if isinstance(error, ForbiddenError):
            text = str(error.args[1])
            raise failures.forbidden(resource.group, resource.resource, self._name, text) from error
        if isinstance(error, InputError):
            raise failures.forbidden(
                resource.group, resource.resource, self._name, str(error)
            ) from error
