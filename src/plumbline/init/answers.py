"""What a repository was made from: what its user named, and what was seen in the data.

`init` writes it down beside the files, and `upgrade` makes the same repository again from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plumbline.contract.errors import PlumblineError
from plumbline.process.files import digest_path, read_json, write_json

RECORD = Path(".plumbline-template.json")


@dataclass(frozen=True)
class InitAnswers:
    """All that `init` chose by: every later version of plumbline reads it."""

    name: str  # of the repository
    task: str | None  # an own one, made from the example; None: as the columns say
    file: str  # the name of the file of data
    source: str | Mapping[str, str | None]  # data.source
    text: str  # columns
    label: str | list[str]
    num_rows: int
    long_text: int  # words and punctuation marks; 99 % of the texts have at most as many
    english: float  # share of words that are English function words
    majority: float  # share of the most frequent class
    label_separator: str | None = None  # of several labels in a cell; None: one column has one
    passage: str | None = None  # the column of what answers `text`: a search, which has no label
    negative: str | None = None  # the column of what does not answer it
    held_out: Mapping[str, int] = field(default_factory=dict)  # queries of splits that are given
    parts: Sequence[str] = ()  # that `plumbline upgrade --add` brought


@dataclass(frozen=True)
class TemplateRecord:
    """Which plumbline wrote the repository's files, and from what."""

    version: str
    wheel: Path  # in the repository
    sha256: str
    written: dict[str, Any]  # the answers, in the words of that version
    answers: InitAnswers


def write_record(folder: Path, version: str, wheel: Path, answers: InitAnswers) -> None:
    """Write the record into the repository at `folder`; `wheel` is a path there."""
    content = {
        "plumbline": version,
        "wheel": wheel.as_posix(),
        "sha256": digest_path(folder / wheel),
        "answers": asdict(answers),
    }
    write_json(folder / RECORD, content)


def read_record(folder: Path) -> TemplateRecord:
    """Read the record; raises PlumblineError where there is none, or it was edited."""
    path = folder / RECORD
    try:
        content = read_json(path)
        written = content["answers"]
        made_by = (str(content["plumbline"]), Path(content["wheel"]), content["sha256"])
        return TemplateRecord(*made_by, written, InitAnswers(**written))
    except FileNotFoundError:
        raise PlumblineError(
            f"{path}: no such file: `plumbline init` did not make this folder; run `plumbline "
            "upgrade` at the top of a repository that it made"
        ) from None
    except (ValueError, LookupError, TypeError) as error:
        raise PlumblineError(
            f"{path}: not what plumbline wrote ({type(error).__name__}: {error}); "
            f"`git log -- {RECORD}` finds it"
        ) from None
