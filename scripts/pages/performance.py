"""Speed, the gateway under load, the log and the index."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.tables import cores, head, line, result


def speed() -> Iterator[str]:
    results = result("speed")
    if not results:
        return
    wanted, growth = results["wanted"], results["growth"]
    yield from head("5 sentences, 5 passages of 200 words", "ms", "times the fast tier", "wanted")
    yield line("fast tier", f"{results['fast_ms']:,.0f}", "1", "")
    for name, ms, ratio in (
        ("25 calls of a DeBERTa-v3-base", "deberta_25_calls_ms", "deberta_ratio"),
        ("one pass of a ModernBERT-base", "modernbert_pass_ms", "modernbert_ratio"),
    ):
        times, least = f"{1 / results[ratio]:.1f}", f"{1 / wanted[ratio]:.0f} or more"
        yield line(name, f"{results[ms]:,.0f}", times, least)
    if "strong_ms" in results:
        times, most = (
            f"{results['strong_times_fast']:.1f}",
            f"{wanted['strong_times_fast']} or less",
        )
        yield line("strong tier", f"{results['strong_ms']:,.0f}", times, most)
    yield ""
    yield from head("passages", *growth["passages"])
    yield line("fast tier, ms", *(f"{ms:,.0f}" for ms in growth["passages"].values()))
    yield ""
    exponent, memory = growth["exponent"], results["memory_mb"]
    most = wanted["exponent"]
    yield f"Time grows with evidence to the power {exponent:.2f} ({most} or less wanted)."
    if memory is not None:
        yield f"Peak memory of a fresh process: {memory} MB (under {wanted['memory_mb']} wanted)."
    yield f"{results['model']}, {cores(results)}, from `docs/results/speed.json`."


def gateway() -> Iterator[str]:
    results = result("gateway")
    for way, label in (("whole", "not streamed"), ("stream", "streamed")):
        if "plain" not in results:
            return
        row = results["plain"][f"{way}_compared"]
        beside = ""
        if "litellm_per_s" in row:
            beside = (
                f"; LiteLLM {row['litellm_per_s']:,} and {row['litellm_added_ms']} ms: "
                f"{row['throughput_times']} times the throughput, {row['added_share']} of the "
                "latency"
            )
        yield f"- plain, {label}: {row['per_s']:,} a second, {row['added_ms']} ms added{beside}"
    row = results["checked"]
    yield (
        f"- checked: {row['per_s']} a second, {row['share_of_bare']} of what the bare models allow;"
        f" p95 {row['p95_ms']:,} ms, {row['p95_times_fair']} times clients/throughput; statuses "
        f"{row['statuses']}"
    )
    row = results["overload"]
    yield (
        f"- overload: {row['rate']} a second for {row['seconds']:.0f} s, statuses "
        f"{row['statuses']}, unchecked {row['unchecked']}, memory at most "
        f"{row['memory_mb']['peak']} MB"
    )
    if health := row.get("healthz"):  # older runs have no hostile requests
        hostile = sum(sum(found.values()) for found in row["hostile"].values())
        yield (
            f"- hostile requests beside them: {hostile}, server errors other than 503: "
            f"{row['server_errors']}, memory growth {row['memory_mb']['growth_percent']} %, "
            f"`/healthz` p50 {health['p50_ms']} ms, p99 {health['p99_ms']} ms, at most "
            f"{health['max_ms']} ms"
        )


def gateway_sizing() -> Iterator[str]:
    """What a platform engineer asks about the gateway's size, as ratios."""
    results = result("gateway")
    plain, checked, over = results["plain"], results["checked"], results["overload"]
    yield from head("question", "measured")
    ways = [plain[f"{way}_compared"] for way in ("whole", "stream")]
    times = " and ".join(f"{row['throughput_times']}" for row in ways if "litellm_per_s" in row)
    if times:
        yield (
            "| What does the gateway add if nothing is checked? | "
            f"{times} times the throughput of LiteLLM's proxy in the same run (whole replies and "
            "streams) |"
        )
    yield (
        "| How much of the machine's inference speed is left with checks on? | "
        f"{checked['share_of_bare']} of what the bare models allow |"
    )
    yield (
        "| How long does a request wait under load? | "
        f"p95 is {checked['p95_times_fair']} times clients divided by throughput |"
    )
    growth = over["memory_mb"]["growth_percent"]
    yield (
        "| What happens at twice the capacity? | the excess gets 429 with `Retry-After`; memory "
        f"grows by {growth} % in {over['seconds'] / 60:.0f} minutes |"
    )


def soak() -> Iterator[str]:
    """What the soak counted; nothing where it has not run."""
    results = result("soak")
    if found := results.get("faults"):
        yield (
            f"- {found['requests']:,} requests over {found['kinds']} kinds of upstream fault, "
            f"{found['combinations']} combinations of fault, mode and streaming: "
            f"{found['unchecked']} unchecked texts in the replies."
        )
    if found := results.get("texts"):
        yield (
            f"- {found['requests']:,} requests with texts that are hard to read, of "
            f"{found['pieces']} kinds: {found['late']} ended later than a second after their "
            f"deadline; `/healthz` beside them p99 {found['healthz']['p99_ms']} ms, memory at most "
            f"{found['memory_mb']['peak']} MB."
        )
    for name, store in (("kills_sqlite", "SQLite"), ("kills_postgresql", "PostgreSQL")):
        if found := results.get(name):
            chain = "verifies" if found["chain"] else "is broken"
            yield (
                f"- {found['kills']} times `kill -9` under load on {store}: "
                f"{found['acknowledged']:,} records acknowledged, {found['lost']} lost; the chain "
                f"{chain}."
            )


def record() -> Iterator[str]:
    results = result("record")
    if not results:
        return
    wanted, page = results["wanted"], results["page"]
    size = f"{results['record_bytes']:,} bytes a record"
    yield from head(f"{results['writers']} writers, {size}", "SQLite", "PostgreSQL", "wanted")
    both = [results["sqlite"], results.get("postgresql", {})]
    least = f"{wanted['sqlite_append_per_s']:,} and {wanted['postgresql_append_per_s']:,}"
    for label, name, goal in (
        ("appended a second", "append_per_s", f"{least}, or half of the next"),
        ("its own inserts, in groups as large", "bare_per_s", ""),
        ("its own inserts, one by one", "bare_one_by_one_per_s", ""),
        ("records in a group", "group", ""),
        ("processor time of an append, µs", "append_cpu_us", ""),
        ("cores the writers had", "append_cores", ""),
        ("verified a second", "verify_per_s", f"{wanted['verify_per_s']:,}"),
    ):
        yield line(label, *(f"{row[name]:,}" if row else "–" for row in both), goal)
    yield ""
    yield (
        f"First page of {page['few']:,} records: {page['few_ms']} ms; of {page['many']:,}: "
        f"{page['many_ms']} ms, {page['times']} times that ({wanted['page_times']} or less). "
        f"To make a record of a verdict takes another {results['making_us']} µs."
    )
    yield f"{cores(results)}, from `docs/results/record.json`."


def indexing() -> Iterator[str]:
    results = result("indexing")
    yield (
        f"400 SciFact abstracts as files, {results['passages']:,} passages, two ARM cores "
        f"(`docs/results/indexing.json`): ratio {results['ratio']:.2f}, peak memory "
        f"{results['peak_memory_mb']} MB."
    )
