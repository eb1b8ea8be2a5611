"""A version's description shows its card, as much of it as MLflow's tables hold."""

from plumbline.registry.model_versions import CUT, MAX_DESCRIPTION, build_description

CARD = "# Model card\n\nshort\n"
LONG = CARD + "| accuracy | 0.9 |\n" * 500


def test_a_card_that_is_too_long_is_cut_after_a_line_and_says_where_the_rest_is() -> None:
    assert build_description(CARD) == CARD
    shown = build_description(LONG)
    assert MAX_DESCRIPTION - 40 < len(shown) <= MAX_DESCRIPTION
    assert shown.endswith(f"| accuracy | 0.9 |{CUT}")
    assert len(build_description("x" * 6000)) == MAX_DESCRIPTION
