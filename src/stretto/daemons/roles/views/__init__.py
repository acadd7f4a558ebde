"""The store as each role sees it: the pods of the role are pending."""
