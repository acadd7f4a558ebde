"""Which objects a list or a watch selects: label and field selectors, pages, versions."""
