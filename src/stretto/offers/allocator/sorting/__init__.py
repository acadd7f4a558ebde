"""The order of roles and of frameworks: a tree of clients, by dominant share or at random."""
