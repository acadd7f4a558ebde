"""Framework of controllers that reconcile objects: caches, work queues and the loop."""
