"""What a trained model is on disk: plain files, its own predictor code, and a digest of each.

Nothing of a bundle is imported, or read by a library, before `verify` has looked at every byte.
"""

from plumbline.bundle.loading import load
from plumbline.bundle.seal_format import SEAL
from plumbline.bundle.sealing import seal
from plumbline.bundle.verification import (
    check_code,
    digest,
    num_bytes,
    read_signature,
    read_source,
    require_digest,
    verify,
)

__all__ = [
    "SEAL",
    "check_code",
    "digest",
    "load",
    "num_bytes",
    "read_signature",
    "read_source",
    "require_digest",
    "seal",
    "verify",
]
