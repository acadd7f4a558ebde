"""Studies of resource offers: the five questions, and offers compared with other designs."""
