"""What the data must be: all that text classification asks, and an expectation of our own."""

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check
from plumbline.tasks.text_classification import expectations
from plumbline.tasks.text_classification.expectations import build_table, find_leaks

__all__ = ["build_checks", "build_table", "find_leaks"]

MAX_LINK_SHARE = 0.01
ONLY_A_LINK = r"^\s*https?://\S+\s*$"


def build_checks(params, table):
    """Return the suite: of the table it may use the names of the splits alone.

    Great Expectations has hundreds of expectations; the table's columns are those of
    data/manifest.parquet, and `text`.
    """
    links = Check(
        "links",
        expect(
            "expect_column_values_to_not_match_regex",
            column="text",
            regex=ONLY_A_LINK,
            mostly=1 - MAX_LINK_SHARE,
        ),
        "blocking",
        "a text says more than an address",
        "remove these rows from the source, or raise MAX_LINK_SHARE in expectations.py",
    )
    return [*expectations.build_checks(params, table), links]
