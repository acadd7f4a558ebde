"""Form of messages in JSON answers and events."""

from stretto.offers.messages import text
from stretto.offers.messages.schema import Message


def json_form(name: str, message: Message) -> Message:
    """The message ``name`` for JSON: with defaults, and with QUOTA_V2 without its name."""
    message = text.with_defaults(name, message)
    for outer in ("subscribed", "get_master"):
        info = message.get(outer, {}).get("master_info")
        if info is not None:
            shown = [{} if each == {"type": "QUOTA_V2"} else each for each in info["capabilities"]]
            return message | {
                outer: message[outer] | {"master_info": info | {"capabilities": shown}}
            }
    return message
