"""What to do where a gate refuses, and where that gate is explained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plumbline.contract.yaml_file import load_yaml

PAGE = Path("docs/reference/gates.md")  # of this checkout; it has an anchor for each gate
TEXTS = Path(__file__).with_name("gates.yaml")


@cache
def read_texts() -> Mapping[str, Mapping[str, Any]]:
    """Read the question, burden, explanation and remedy of each gate, in their order."""
    texts: Mapping[str, Mapping[str, Any]] = load_yaml(TEXTS)
    return texts


@dataclass(frozen=True)
class Failure:
    """A gate that refuses, as a person reads it."""

    gate: str
    reason: str
    remedy: str
    page: str

    @property
    def lines(self) -> tuple[str, str]:
        """The reason, and what to do with where to read more."""
        return f"{self.gate}: {self.reason}", f"  what to do: {self.remedy} [{self.page}]"


def list_failures(evidence: Mapping[str, Any]) -> Iterator[Failure]:
    """List the gates of `evidence` that refuse, of any format, with their remedies."""
    for gate in evidence["gates"]:
        if gate["status"] == "fail":
            name = gate["name"]
            yield Failure(name, gate["reason"], describe_remedy(evidence, name), name_page(name))


def describe_remedy(evidence: Mapping[str, Any], gate: str) -> str:
    """Return what to do where `gate` refuses; empty for a gate that is not of this version."""
    remedy: str = read_texts().get(gate, {}).get("remedy", "")
    return remedy.replace("{winner}", evidence.get("winner") or "NAME")


def name_page(gate: str) -> str:
    """Name the page that explains `gate`, or the command that prints it where no page is here."""
    return f"{PAGE}#{gate}" if PAGE.exists() else f"plumbline docs {PAGE.stem}"
