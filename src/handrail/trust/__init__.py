"""Which projects and plugins a person allowed to run programs."""
