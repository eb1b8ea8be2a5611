"""Tasks of your own: a folder each, which `task: NAME` in params.yaml names."""
