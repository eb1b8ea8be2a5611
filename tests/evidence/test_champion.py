"""What an evaluation asks of the evidence of the champion."""

import pytest

from plumbline.contract.errors import PlumblineError
from plumbline.evidence.champion import require_format
from plumbline.evidence.document import FORMAT


def test_a_champion_with_evidence_of_another_format_is_named_with_what_to_do() -> None:
    require_format("router version 7", {"format": FORMAT})
    for evidence in ({"format": FORMAT - 1}, {}):
        with pytest.raises(
            PlumblineError, match=r"router version 7: its evidence has format .*`plumbline run`"
        ):
            require_format("router version 7", evidence)
