"""From the status of an object in its members to the status of its source."""
