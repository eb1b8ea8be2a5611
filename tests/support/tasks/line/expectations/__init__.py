"""What a point must be."""

from plumbline.contract.task import Check


def table(params, examples, manifest, source):
    return manifest


def expectations(params, table):
    from great_expectations.expectations import ExpectColumnValuesToBeBetween

    limit = params.validation.max_abs_x
    between = ExpectColumnValuesToBeBetween(column="x", min_value=-limit, max_value=limit)
    return [
        Check(
            "range",
            between,
            "blocking",
            "x lies in its range",
            "mend the source, or widen validation.max_abs_x",
        )
    ]
