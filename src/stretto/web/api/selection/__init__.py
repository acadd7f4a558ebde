"""Selection of objects in a list or a watch: label and field selectors, pages, versions."""
