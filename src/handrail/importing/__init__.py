"""Takes over what another tool left in a project: reports each thing, and never changes it."""
