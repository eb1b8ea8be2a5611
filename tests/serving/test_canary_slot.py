"""What becomes of a canary when the champion beside it changes and its limit cannot be found."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plumbline.contract.errors import AbsentVersionError, RegistryError
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.serving import canary_slot
from plumbline.serving.canary_slot import CanarySlot
from plumbline.serving.disagreement_limit import DisagreementLimit
from plumbline.serving.settings import Canary, Settings

CACHED = CachedVersion("line", "2", "ab" * 32, "line", Path("bundle"), Path("golden.json"))
SETTINGS = Settings("models:/line@champion", canary=Canary("2", 1.0))


class StubModel:
    """A model that is loaded; it only counts how often it is closed."""

    def __init__(self) -> None:
        self.cached = CACHED
        self.num_closed = 0

    def export_metrics(self, side: str) -> None:
        canary_slot.metrics.MODEL_VERSION.labels(CACHED.name, side).set(2)

    async def close(self) -> None:
        self.num_closed += 1


@pytest.mark.parametrize("error", [RegistryError("no answer"), OSError("no space left")])
def test_a_canary_whose_limit_cannot_be_read_leaves(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    model = StubModel()

    async def load(*_: Any) -> StubModel:
        return model

    async def run() -> None:
        slot = build_slot()
        await slot.start(SimpleNamespace(cached=CACHED))
        assert slot.draw()
        monkeypatch.setattr(canary_slot, "find_disagreement_limit", fail)
        await slot.renew(SimpleNamespace(cached=CACHED))
        assert slot.draw() is None
        await asyncio.sleep(0)
        assert model.num_closed == 1

    def fail(*_: Any) -> DisagreementLimit:
        raise error

    monkeypatch.setattr(canary_slot, "LoadedModel", SimpleNamespace(load=load))
    monkeypatch.setattr(canary_slot, "find_disagreement_limit", allow)
    asyncio.run(run())


def test_between_two_trials_a_canary_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []

    async def load(*_: Any) -> StubModel:
        return StubModel()

    async def run() -> None:
        slot = build_slot()

        def look(*_: Any) -> DisagreementLimit:
            drawn.append(slot.draw())
            return allow()

        await slot.start(SimpleNamespace(cached=CACHED))
        monkeypatch.setattr(canary_slot, "find_disagreement_limit", look)
        await slot.renew(SimpleNamespace(cached=CACHED))
        assert slot.draw()

    monkeypatch.setattr(canary_slot, "LoadedModel", SimpleNamespace(load=load))
    monkeypatch.setattr(canary_slot, "find_disagreement_limit", allow)
    asyncio.run(run())
    assert drawn == [None]


@pytest.mark.parametrize(
    ("error", "stays"), [(AbsentVersionError("no version 2"), False), (RegistryError("away"), True)]
)
def test_a_canary_leaves_if_its_version_was_deleted(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    stays: bool,
) -> None:
    model = StubModel()
    fetched: list[str] = []

    async def load(*_: Any) -> StubModel:
        return model

    def fetch_version(number: str) -> CachedVersion:
        fetched.append(number)
        if len(fetched) > 1:
            raise error
        return CACHED

    async def run() -> None:
        slot = build_slot(fetch_version)
        await slot.start(SimpleNamespace(cached=CACHED))
        for _ in range(3):
            await slot.follow_journal()
        assert (slot.draw() is not None) == stays
        await slot.close()

    monkeypatch.setattr(canary_slot, "LoadedModel", SimpleNamespace(load=load))
    monkeypatch.setattr(canary_slot, "find_disagreement_limit", allow)
    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    expected = [] if stays else ["canary: taken out of service, not returned: no version 2"]
    assert caplog.messages == expected
    assert model.num_closed == 1


def build_slot(
    fetch_version: Callable[[str], CachedVersion] = lambda number: CACHED,
) -> CanarySlot:
    async def ask_champion(*_: Any) -> Any:
        raise AssertionError("nothing is asked")

    cache = SimpleNamespace(fetch_version=fetch_version)
    return CanarySlot(
        SETTINGS, cache, ask_champion, lambda work: asyncio.get_running_loop().create_task(work)
    )


def allow(*_: Any) -> DisagreementLimit:
    return DisagreementLimit(0.5, "a test")
