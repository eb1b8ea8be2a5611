"""The forge that runs this job."""

import os
from types import ModuleType

from plumbline.ci import github, gitlab
from plumbline.reporting import html


def find_forge() -> ModuleType:
    """GitLab in its jobs, else GitHub, whose functions do nothing where no workflow runs.

    Both set outputs, add summaries, annotate, describe approvals, and keep files.
    """
    return gitlab if os.environ.get("GITLAB_CI") else github


def announce_verdict(name: str, verdict: str, reason: str, **outputs: str) -> None:
    """Tell the workflow a verdict: the output of this `name`, other outputs, summary, notice."""
    forge = find_forge()
    forge.set_outputs(**{name: verdict}, **outputs)
    forge.add_summary(f"## {name.capitalize()}: {verdict}\n\n{html.format_code(reason)}")
    forge.annotate("notice", name, f"{verdict}: {reason}")
