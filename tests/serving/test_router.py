"""What a worker does at its start with versions that cannot be opened: the champion answers."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plumbline.contract.errors import BundleError, EvidenceError, PlumblineError
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import canary, router
from plumbline.serving.disagreement_limit import DisagreementLimit
from plumbline.serving.router import TrafficRouter
from plumbline.serving.settings import Settings

FAILURES = (BundleError("damaged"), OSError(24, "Too many open files"), KeyError("example"))


class StubModel:
    """A loaded model that nobody asks."""

    def __init__(self, cached: CachedVersion) -> None:
        self.cached = cached

    def export_metrics(self, variant: str) -> None:
        """Export nothing."""

    async def close(self) -> None:
        """Close nothing."""


class StubCache:
    """Gives every version, and fails to fetch what the registry names where it has an error."""

    def __init__(self, error: Exception | None = None, kept: CachedVersion | None = None) -> None:
        self._error, self._kept = error, kept

    def fetch_latest_or_kept(self) -> CachedVersion:
        if self._error:
            raise self._error
        return build_version("1")

    def fetch_version(self, number: str) -> CachedVersion:
        return build_version(number)

    def find_kept(self) -> CachedVersion | None:
        return self._kept

    def keep(self, cached: CachedVersion) -> None:
        """Keep nothing."""


def build_version(number: str) -> CachedVersion:
    return CachedVersion("line", number, "ab" * 32, "line", Path("bundle"), Path("golden.json"))


def start_worker(
    settings: Settings,
    cache: StubCache,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception | None = None,
) -> str:
    """Start a router of which every version but 1 fails to load; return the champion's version."""

    async def load(cached: CachedVersion, limits: Any) -> StubModel:
        if failure and cached.version != "1":
            raise failure
        return StubModel(cached)

    async def run() -> str:
        traffic = TrafficRouter(settings)
        await traffic.start()
        assert traffic._shadow is None
        assert traffic._canary._model is None
        version = traffic.champion.cached.version
        await traffic.close()
        return version

    monkeypatch.setattr(router, "VerifiedModelCache", lambda *_: cache)
    for module in (router, canary):
        monkeypatch.setattr(module, "LoadedModel", SimpleNamespace(load=load))
    allowed = DisagreementLimit(0.5, "a test")
    monkeypatch.setattr(canary, "find_disagreement_limit", lambda *_: allowed)
    return asyncio.run(run())


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
@pytest.mark.parametrize("beside", [{"canary": "2=50%"}, {"shadow": "2"}], ids=str)
def test_a_version_beside_the_champion_that_cannot_be_loaded_stops_nothing(
    beside: dict[str, Any], failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings("models:/line@champion", **beside)
    assert start_worker(settings, StubCache(), monkeypatch, failure) == "1"


@pytest.mark.parametrize("error", [EvidenceError("edited"), OSError(28, "No space left")], ids=repr)
def test_where_the_champion_cannot_be_opened_the_one_that_served_last_answers(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings("models:/line@champion")
    kept = StubCache(error, kept=build_version("7"))
    assert start_worker(settings, kept, monkeypatch) == "7"
    with pytest.raises((PlumblineError, OSError), match=r"edited|No space left"):
        start_worker(settings, StubCache(error), monkeypatch)
