"""Services: which pods they select, and the objects that list them."""
