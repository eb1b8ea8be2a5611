"""Evidence as evaluate would leave it, with the verdict that a test asks for."""

from plumbline.contract import layout
from plumbline.evidence import document


def write_evidence(verdict: str = "promote", champion: dict | None = None, **digests: str) -> None:
    failed = {"promote": [], "keep": ["champion"], "refuse": ["floor"]}[verdict]
    names = ("floor", "champion")
    gates = [
        {"name": n, "status": "fail" if n in failed else "pass", "reason": "0.5 is below 0.8"}
        for n in names
    ]
    evidence = {
        "format": 2,
        "verdict": verdict,
        "summary": f"closed: {verdict}",
        "winner": "closed",
        "gates": gates,
    }
    digests = digests or layout.read_json(layout.EVIDENCE)["digests"]
    layout.write_json(
        layout.EVIDENCE,
        document.seal_evidence(evidence | {"champion": champion, "digests": digests}),
    )
