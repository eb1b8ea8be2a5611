"""Names of files of labelled requests, which say whether chance or somebody chose their rows."""

# How the names of files by `plumbline outcomes export` begin; a day and .parquet follow.
UNIFORM, CHOSEN = "outcomes-uniform-", "outcomes-chosen-"
# Finds in the id of a row (NAME:NUMBER) which of them its file is.
WHICH = r"(?:^|[/:])outcomes-(uniform|chosen)-[^/:]*:[0-9]+$"
