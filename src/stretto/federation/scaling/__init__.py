"""What centralized autoscalers read and write: pods of members, their use, and sources."""
