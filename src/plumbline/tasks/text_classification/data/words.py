"""Words of a text in any script: between blanks, or single signs where a script has no blanks.

Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without blanks, and an emoji is a word
of its own. Each of their signs counts as a word, so that two neighbouring ones are a 2-gram.
`predictor.py` has a copy of SIGNS, since it imports nothing of plumbline; a test compares both.
"""

import re

SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
    "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
)
WORD = rf"[{SIGNS}]|[^\W{SIGNS}]+"  # letters, digits and the underscore
LONG_WORD = rf"[{SIGNS}]|[^\W{SIGNS}]{{2,}}"
UNBROKEN = rf"[{SIGNS}]|[^\s{SIGNS}]+"  # with punctuation: only a blank text has none


def count_words(text: str) -> int:
    """Count the words of a text; each sign of a script without blanks is one."""
    return len(re.findall(WORD, text))
