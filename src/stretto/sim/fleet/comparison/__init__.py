"""One fleet under several division policies: policies, traces over clusters, what-if."""
