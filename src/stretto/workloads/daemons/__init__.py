"""DaemonSets: one pod for each eligible node, and their updates."""
