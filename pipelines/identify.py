"""Entry point of the identify stage: python -P pipelines/identify.py"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))  # what DVC hashes is what runs

from plumbline.entrypoint import main

sys.exit(main("identify"))
