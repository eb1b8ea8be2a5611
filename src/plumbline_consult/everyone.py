"""Before there is a policy: every agent is asked, and the commonest answer is given."""

from collections import Counter

from plumbline_consult.agents import AgentsFile
from plumbline_consult.policy import KnownAnswers, PolicyDecision

LABEL = "all"  # what the command line calls it


class Everyone:
    """Asks all agents at the same time, then those that see the answers of others."""

    label = LABEL

    def __init__(self, file: AgentsFile, form: str) -> None:
        self.form = form
        self._agents = file.agents

    async def decide(self, known: KnownAnswers) -> PolicyDecision:
        """Ask who was not asked; of equally common answers, the first agent's in the file wins."""
        rest = [name for name in self._agents if name not in known.agents]
        first = [name for name in rest if not self._agents[name].sees_others]
        given = dict(zip(known.agents, known.answers, strict=True))
        ordered = [given[name] for name in self._agents if given.get(name)]
        votes = Counter(ordered).most_common()
        shares = [{"answer": text, "share": count / len(ordered)} for text, count in votes]
        best = votes[0][0] if votes else ""
        confidence = votes[0][1] / len(ordered) if votes else 0.0
        return PolicyDecision(tuple(first or rest), best, confidence, shares)
