"""Conversion of traces, dumps and scenarios to recordings; each source has its own reader."""
