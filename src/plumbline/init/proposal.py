"""params.yaml for a file that was looked at: the shipped one, with values that fit it and why."""

import io
import math
from dataclasses import dataclass
from typing import Any

from plumbline.init.survey import FileSurvey

TOKENS_PER_WORD = 1.3  # of the shipped encoders, on English
TOKEN_STEP, MAX_TOKENS = 16, 256
SPECIAL_TOKENS = 2
MIN_ENGLISH = 0.05  # share of function words; English texts have 0.2 to 0.5
MIN_ROWS_FROM_SCRATCH = 2000
VALIDATION, TEST = 0.15, 0.2  # shares of rows, where the file is all there is
VALIDATION_BESIDE_TEST = 0.1
# Rows that an encoder sees in training, in all epochs; early stopping ends sooner.
PRETRAINED_ROWS, SCRATCH_ROWS = 45_000, 120_000
FIRST_LINE = "# {file}: `plumbline init` wrote these values; all of them are yours to change.\n"
COMMENT_COLUMN = 32
WIDE = 4096  # characters a line: the writer must not wrap


@dataclass(frozen=True)
class Proposal:
    """The text of params.yaml, and what to say of it: one line for each choice."""

    text: str
    reasons: list[str]


def propose_params(template: str, survey: FileSurvey, data: dict[str, Any], name: str) -> Proposal:
    """Return params.yaml for the surveyed file.

    `template` is the text of a complete params.yaml, `data` its new data.source and data.watch,
    `name` that of the registered model.
    """
    yaml = _build_yaml()
    params = yaml.load(template)
    has_test = isinstance(data["source"], dict)
    choices = _Choices(params)
    _set_data(params, survey, data)
    share = 1 - (VALIDATION_BESIDE_TEST if has_test else VALIDATION + TEST)
    num_train = max(1, round(share * survey.num_rows))
    _choose_candidates(choices, survey, num_train)
    _set_lengths(choices, survey)
    params["registry"]["model"] = name
    stream = io.StringIO()
    yaml.dump(params, stream)
    _, _, text = stream.getvalue().partition("\n")  # without the comment on the shipped data
    return Proposal(FIRST_LINE.format(file=survey.path.name) + text, choices.reasons)


def _build_yaml() -> Any:
    """Build a reader and writer that keeps comments, line breaks and the word null."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import RoundTripRepresenter

    class NullRepresenter(RoundTripRepresenter):
        def write_null(self, data: None) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:null", "null")

    NullRepresenter.add_representer(type(None), NullRepresenter.write_null)
    yaml = YAML()
    yaml.Representer = NullRepresenter
    yaml.width = WIDE
    return yaml


class _Choices:
    """Sets values of candidates, with the reason beside them."""

    def __init__(self, params: Any) -> None:
        self.candidates = params["candidates"]
        self.reasons: list[str] = []

    def set(self, candidate: str, key: str, value: int, reason: str) -> None:
        if candidate in self.candidates:
            config = self.candidates[candidate]
            config[key] = value
            config.yaml_add_eol_comment(reason, key, column=COMMENT_COLUMN)
            self.reasons.append(f"{candidate}.{key}: {value}: {reason}")

    def remove(self, candidate: str, reason: str) -> None:
        del self.candidates[candidate]
        self.reasons.append(f"no candidate {candidate}: {reason}")


def _set_data(params: Any, survey: FileSurvey, data: dict[str, Any]) -> None:
    params["data"].update(data)
    columns = params["data"]["columns"]
    columns["text"] = survey.text
    columns["label"] = survey.label
    columns["metadata"] = []
    params["evaluation"]["slices"] = []
    if isinstance(data["source"], dict):
        params["data"]["split"].update(validation=VALIDATION_BESIDE_TEST, test=0.0)


def _set_lengths(choices: _Choices, survey: FileSurvey) -> None:
    """Let all but 1 % of the texts be read whole."""
    longest = survey.lengths[math.floor(0.99 * (len(survey.lengths) - 1))]
    needed = longest * TOKENS_PER_WORD + SPECIAL_TOKENS
    tokens = min(MAX_TOKENS, TOKEN_STEP * math.ceil(needed / TOKEN_STEP))
    reason = f"99 % of the texts have at most {longest} words and marks"
    if needed > MAX_TOKENS:
        reason += "; longer ones are cut"
    for candidate in ("transformer", "minilm"):
        choices.set(candidate, "max_tokens", tokens, reason)


def _choose_candidates(choices: _Choices, survey: FileSurvey, num_train: int) -> None:
    if survey.english < MIN_ENGLISH:
        choices.remove(
            "minilm",
            f"{survey.english:.0%} of the words are English function words, and it knows English",
        )
    elif num_train < MIN_ROWS_FROM_SCRATCH:
        choices.remove(
            "transformer", f"{num_train:,} rows of train are few to learn a language from"
        )
    for candidate, num_rows, most in (
        ("transformer", SCRATCH_ROWS, 30),
        ("minilm", PRETRAINED_ROWS, 10),
    ):
        epochs = min(most, max(1, round(num_rows / num_train)))
        choices.set(candidate, "max_epochs", epochs, f"for about {num_train:,} rows of train")
