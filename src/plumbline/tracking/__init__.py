"""MLflow: the connection, and the runs of training."""
