"""What every stage and task shares: what a task is, parameters, paths and errors."""
