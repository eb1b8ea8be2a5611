"""Design LC ladder filters from standard parts that meet a mask, within a theorem's bound."""
