"""Consistency checks of a live or stored state behind `stretto doctor`."""
