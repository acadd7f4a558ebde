"""Consistency checks on a running or stored state, behind ``stretto doctor``."""
