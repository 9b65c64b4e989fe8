"""What others implement and how it is found: contracts, the registry, plugins."""
