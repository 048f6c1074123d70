"""Webhook signatures: HMAC-SHA256 over time and body, so that receivers can reject replays.

>>> signature("secret", b"{}", 1700000000)
't=1700000000,v1=…'
"""

from __future__ import annotations

import hashlib
import hmac

HEADER = "Suffice-Signature"


def signature(secret: str, body: bytes, time: int) -> str:
    signed = hmac.new(secret.encode(), b"%d.%b" % (time, body), hashlib.sha256)
    return f"t={time},v1={signed.hexdigest()}"
