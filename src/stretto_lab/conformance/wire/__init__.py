"""Replays of recorded wire traffic against embedded stores."""
