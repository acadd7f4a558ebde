"""An ACCEPT whose offers are invalid: its tasks and operations are dropped."""

from stretto.offers.master.core import offering, updates
from stretto.offers.master.core.accepting import launching
from stretto.offers.master.core.accepting.feedback import drop
from stretto.offers.master.core.accepting.preparing import LAUNCHES
from stretto.offers.master.core.state import MasterState
from stretto.offers.master.state.frameworks import Framework
from stretto.offers.master.state.tasks import master_status
from stretto.offers.messages.schema import Message


def refuse_all(master: MasterState, framework: Framework, body: Message, error: str) -> None:
    """End the existing offers of an invalid ACCEPT, and drop its tasks and operations."""
    for each in body.get("offer_ids", ()):
        offer = master.offers.get(each["value"])
        if offer is not None and offer.framework_id == framework.id:
            offering.discard(master, offer)
    for operation in body.get("operations", ()):
        if operation.get("type") in LAUNCHES:
            text = f"Task launched with invalid offers: {error}"
            for task in launching.tasks_of(operation):
                status = master_status(
                    task["task_id"]["value"],
                    task["agent_id"]["value"],
                    "TASK_DROPPED",
                    text,
                    "REASON_INVALID_OFFERS",
                )
                updates.report(master, framework, status)
        else:
            text = f"Operation attempted with invalid offers: {error}"
            drop(master, framework, operation, text)
