"""Copied into a bundle as faulty.py: a policy that is wrong as its config says.

Like every predictor it imports nothing of plumbline.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def wrap(sound: Any, config: Mapping[str, Any]) -> "FaultyPolicy":
    """Return a predictor that answers as `sound`, but for what `config` says."""
    return FaultyPolicy(sound, config)


class FaultyPolicy:
    """Asks the sound policy, then changes what it says; models.HARMLESS lists the settings."""

    def __init__(self, sound: Any, config: Mapping[str, Any]) -> None:
        self.forms = sound.forms
        self.agents = sound.agents
        self.costs = sound.costs
        self._sound = sound
        if config["instead"] is not None:
            self._sound = type(sound)(config["instead"])
        self._config = config
        self._answers = {tuple(known): answer for known, answer in config["answers"]}

    def predict(self, columns: Mapping[str, Sequence[Any]], **params: Any) -> dict[str, list[Any]]:
        """Answer every row, wrongly where the config says so."""
        if self._config["asks_everyone"]:
            params = {"stop_at": 1.0}
        answers: dict[str, list[Any]] = self._sound.predict(columns, **params)
        for row, given in enumerate(columns["answers"]):
            agents = list(columns["agents"][row])
            known = self._answers.get(tuple(given))
            if self._config["repeats"] and agents:
                answers["ask"][row] = agents[0]
            if self._config["overdraws"]:
                answers["ask"][row] = self._find_dearest(agents)
            if self._config["is_sure"] and answers["votes"][row]:
                self._set_votes(answers, row, answers["answer"][row])
            if self._config["reads"] and answers["votes"][row]:
                self._set_votes(answers, row, max(given))
            if known is not None and answers["votes"][row]:
                self._set_votes(answers, row, known)
        return answers

    def _find_dearest(self, agents: list[str]) -> str:
        """Name the dearest agent that was not asked; empty where none is left."""
        left = [name for name in self.agents if name not in agents]
        prices = dict(zip(self.agents, self.costs, strict=True))
        return max(left, key=lambda name: prices[name], default="")

    def _set_votes(self, answers: dict[str, list[Any]], row: int, answer: str) -> None:
        """Answer with all of the confidence, or all that was there, as the config says."""
        confidence = 1.0 if self._config["is_sure"] else answers["confidence"][row]
        answers["answer"][row] = answer
        answers["confidence"][row] = confidence
        answers["votes"][row] = [{"answer": answer, "share": confidence}]
