"""Flow control: the FlowSchema and the level of each request, not the objects themselves."""
