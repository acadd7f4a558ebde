"""Run records: the history of each pod of a run, in one SQLite file."""
