"""One fleet under several ways of division: policies, traces dealt out over clusters, what-if."""
