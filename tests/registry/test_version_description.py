"""A version's description shows the card and the decisions, as much as MLflow's tables hold."""

import pytest

from plumbline.registry.version_description import (
    CUT,
    HEADING,
    MAX_CHARACTERS,
    add_decision,
    build_description,
)

CARD = "# Model card\n\nshort\n"
LONG = CARD + "| accuracy | 0.9 |\n" * 500


def test_what_fits_is_as_it_is() -> None:
    assert build_description(CARD) == CARD
    assert add_decision(CARD, "- first") == f"{CARD}{HEADING}- first\n"
    both = add_decision(add_decision(CARD, "- first"), "- promote")
    assert both == f"{CARD}{HEADING}- first\n- promote\n"


def test_a_card_that_is_too_long_is_cut_after_a_line_and_says_where_the_rest_is() -> None:
    found = build_description(LONG)
    assert MAX_CHARACTERS - 40 < len(found) <= MAX_CHARACTERS
    assert found.endswith(f"| accuracy | 0.9 |{CUT}")


@pytest.mark.parametrize("card", [CARD, LONG, "x" * 6000])
def test_the_newest_decisions_are_always_there(card: str) -> None:
    description = build_description(card)
    for number in range(100):
        description = add_decision(description, f"- decision {number}: {'because ' * 100}")
        assert len(description) <= MAX_CHARACTERS
        assert f"- decision {number}:" in description
        assert description.startswith(card[:1000].splitlines()[0])
    assert "- decision 98:" in description
    assert "- decision 0:" not in description
    assert description.count(CUT.strip()) == (card != CARD)
