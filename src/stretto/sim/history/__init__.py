"""Recordings and what-ifs: record a cluster, replay it, plan on a copy, forecast start times."""
