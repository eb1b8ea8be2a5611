"""On how many rows a canary may differ from the champion: as evidence or an option says."""

from dataclasses import dataclass

from plumbline.contract.errors import ParamsError
from plumbline.registry.reader.run_files import read_evidence
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.registry.reader.versions import find_version
from plumbline.serving.settings import Settings

LEVEL_Z = 2.576  # one-sided 99.5 %
MARGIN = 0.05  # live requests are not the test split


@dataclass(frozen=True)
class DisagreementLimit:
    """The largest share of rows that is not too much, and where it comes from."""

    share: float
    reason: str


def find_disagreement_limit(
    settings: Settings, tried: CachedVersion, champion: CachedVersion
) -> DisagreementLimit:
    """Find the limit for a canary beside this champion.

    ParamsError where the canary is this champion, or where no option gives a limit and its
    evidence is not about this champion; RegistryError where it cannot be read.
    """
    if tried.version == champion.version:
        raise ParamsError(f"--canary {tried.version}: that version is the champion")
    if settings.limits.max_disagreement:
        return DisagreementLimit(settings.limits.max_disagreement, "--limit max_disagreement")
    evidence = read_evidence(find_version(f"models:/{tried.name}/{tried.version}"))
    compared = evidence.get("champion") or {}
    if compared.get("bundle") != champion.bundle or "disagreement" not in compared:
        raise ParamsError(
            f"--canary {tried.version}: its evidence does not say on how many rows it differs from "
            f"the champion, version {champion.version}; evaluate it against that one, or say with "
            "--limit max_disagreement=0.1 which share of the rows may differ"
        )
    share, num_rows = compared["disagreement"], compared["num_rows"]
    limit = min(1.0, compute_upper_limit(share, num_rows) + MARGIN)
    return DisagreementLimit(limit, f"evidence: {share:.1%} of {num_rows} test rows differ")


def compute_upper_limit(share: float, num_rows: int) -> float:
    """Compute the upper end of Wilson's interval of a share, one-sided at 99.5 % (Wilson 1927)."""
    square = LEVEL_Z**2 / num_rows
    spread = LEVEL_Z * (share * (1 - share) / num_rows + square / num_rows / 4) ** 0.5
    return float((share + square / 2 + spread) / (1 + square))
