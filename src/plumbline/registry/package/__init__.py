"""The MLflow package around a bundle."""
