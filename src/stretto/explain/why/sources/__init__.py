"""Scenes of a running plane or of a run record, and the objects behind them."""
