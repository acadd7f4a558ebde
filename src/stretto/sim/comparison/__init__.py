"""Policy comparisons over seeds, by the protocol of the published openb study."""
