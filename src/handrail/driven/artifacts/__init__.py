"""Files that steps make: their names, schemas, versions and lineage."""
