"""What every stage and task shares: the record that a task is, its parameters, paths, errors and lineage."""
