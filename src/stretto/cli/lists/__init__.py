"""The lists of ``stretto get``: one function for each resource."""
