"""Add each finished request to the totals of the usage report."""

from __future__ import annotations

import collections

from suffice.access.usage_report import Ledger, Totals, UsedBy
from suffice.server.telemetry.stats import RequestStats, StatsListener
from suffice.types import Action


def usage_watch(ledger: Ledger) -> StatsListener:
    """A listener that counts the requests of authenticated callers."""

    def watch(stats: RequestStats) -> None:
        if not stats.caller:  # refused: the caller is unknown
            return
        verdicts = collections.Counter(verdict.action for verdict in stats.verdicts)
        used = Totals(
            requests=1,
            errors=int(stats.status >= 400),
            tokens_in=stats.tokens_in,
            tokens_out=stats.tokens_out,
            cost=stats.cost,
            serve=verdicts[Action.SERVE],
            caveat=verdicts[Action.CAVEAT],
            conflict=verdicts[Action.CONFLICT],
            withhold=verdicts[Action.WITHHOLD],
            review=verdicts[Action.REVIEW],
        )
        ledger.add(UsedBy(stats.caller, stats.team, stats.user, stats.model), used)

    return watch
