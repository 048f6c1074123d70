"""An OpenAI-compatible server on loopback that replies as scripted, for tests of your own."""

from suffice.testing.replies import Scripted, calls, fails, says, streams
from suffice.testing.upstream import Reply, ScriptedUpstream, slow

__all__ = ["Reply", "Scripted", "ScriptedUpstream", "calls", "fails", "says", "slow", "streams"]
