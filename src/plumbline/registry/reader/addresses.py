"""How a registered version is named: its address, tags and aliases; and where the registry is."""

import re
from dataclasses import dataclass

from plumbline.contract.errors import ParamsError
from plumbline.sources.addresses import hide_secrets
from plumbline.tracking import store_location

BUNDLE_TAG = "plumbline.bundle"
EVIDENCE_TAG = "plumbline.evidence"
GOLDEN_TAG = "plumbline.golden"
CHAMPION = "champion"
CHALLENGER = "challenger"
NAME = r"[A-Za-z][A-Za-z0-9_-]{0,59}"  # as in params.yaml; no path, no option, no shell
NUMBER = r"[1-9][0-9]{0,8}"


@dataclass(frozen=True)
class VersionAddress:
    """A model in the registry, and which of its versions: by an alias, or by its number."""

    name: str
    alias: str | None
    number: str | None

    def __str__(self) -> str:
        return f"models:/{self.name}" + (f"@{self.alias}" if self.alias else f"/{self.number}")


def parse_address(address: str) -> VersionAddress:
    """Parse `models:/NAME@ALIAS` or `models:/NAME/VERSION`. ParamsError for anything else."""
    match = re.fullmatch(rf"models:/({NAME})(?:@({NAME})|/({NUMBER}))", address, re.ASCII)
    if match is None:
        raise ParamsError(
            f"{address[:100]!r} does not name a registered model; expected models:/NAME@ALIAS, "
            "such as models:/ticket-router@champion, or models:/NAME/VERSION, such as "
            "models:/ticket-router/3"
        )
    return VersionAddress(*match.groups())


def describe_registry() -> str:
    """The registry's address, fit to be shown: without its password."""
    return hide_secrets(store_location.find_uri())
