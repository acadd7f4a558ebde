"""Controllers that reconcile objects: cached objects, work queues and the loop that runs them."""
