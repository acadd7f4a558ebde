"""Logs of batch jobs with run times: the neutral job, its pods, and one reader for each log."""
