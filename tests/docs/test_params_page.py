"""docs/params.md has every key of params.yaml, as the models have it, and says what it is for."""

from tests.support import params_page

PAGE = params_page.PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_models() -> None:
    assert set(params_page.read_descriptions(PAGE)) == set(params_page.list_tables())
    expected = params_page.write_tables(PAGE)
    assert expected == PAGE, "run `python -m tests.support.params_page`, and describe new keys"


def test_every_key_is_described() -> None:
    descriptions = params_page.read_descriptions(PAGE)
    empty = [
        f"{title}: {cell}"
        for title, rows in descriptions.items()
        for cell, text in rows.items()
        if not text
    ]
    assert not empty, f"docs/params.md: say what these keys are for: {', '.join(empty)}"


def test_a_new_key_and_one_that_is_gone_are_seen() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `drift.alpha`"))
    without = PAGE.replace(f"{row}\n", "")
    assert params_page.write_tables(without) != without
    renamed = PAGE.replace("`drift.alpha`", "`drift.beta`")
    rows = params_page.read_descriptions(params_page.write_tables(renamed))["drift"]
    assert rows["`drift.alpha`"] == ""
    assert "`drift.beta`" not in rows
