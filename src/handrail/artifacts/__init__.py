"""Files that steps promised and made: their names, schemas, versions and lineage."""
