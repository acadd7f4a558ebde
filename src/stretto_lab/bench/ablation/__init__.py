"""Contribution of each part of the engine, measured with the part disabled."""
