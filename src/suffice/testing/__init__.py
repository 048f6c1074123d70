"""A scripted OpenAI-compatible server on loopback, for your own tests."""

from suffice.testing.replies import Scripted, calls, fails, says, streams
from suffice.testing.upstream import Reply, ScriptedUpstream, slow

__all__ = ["Reply", "Scripted", "ScriptedUpstream", "calls", "fails", "says", "slow", "streams"]
