"""Propagation of objects to members: writes, their replies, and the resulting states."""
