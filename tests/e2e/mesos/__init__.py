"""Unmodified Mesos clients against a real master and real agents: `make test-mesos`."""
