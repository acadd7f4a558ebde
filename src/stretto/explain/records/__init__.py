"""Run records: the history of every pod of a run, in one SQLite file."""
