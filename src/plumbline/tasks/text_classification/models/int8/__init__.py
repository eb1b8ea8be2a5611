"""The int8 forms of an exported graph, from the fp32 graph and texts of the train split."""
