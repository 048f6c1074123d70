"""For your own tests: a scripted OpenAI-compatible server on loopback, and an assertion."""

from suffice.testing.grounded import assert_grounded
from suffice.testing.replies import Scripted, calls, fails, says, streams
from suffice.testing.upstream import Reply, ScriptedUpstream, slow

__all__ = [
    "Reply",
    "Scripted",
    "ScriptedUpstream",
    "assert_grounded",
    "calls",
    "fails",
    "says",
    "slow",
    "streams",
]
