"""How members are reached: the contract of connections, and that of real API servers."""
