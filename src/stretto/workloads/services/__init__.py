"""Services: the pods that they select, and their Endpoints and EndpointSlices."""
