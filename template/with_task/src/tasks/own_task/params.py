"""params.yaml of this task: that of text classification; a key of your own is a field here."""

from typing import Literal

from plumbline.tasks.text_classification.params import TextParams


class OwnParams(TextParams):
    """params.yaml with task: own_task."""

    task: Literal["own_task"]


PARAMS = OwnParams
