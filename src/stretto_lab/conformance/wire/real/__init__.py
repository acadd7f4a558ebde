"""Replays of recorded scenarios against real API servers."""
