"""Format the figures of a run as tables of plain text: absolute ones, then ratios."""

from typing import Any

OURS = "plumbline"
WIDTH = 34


def page(found: dict[str, Any], levels: tuple[int, ...]) -> str:
    """All tables."""
    measured = {name: one for name, one in found["servers"].items() if not one["problems"]}
    parts = [_subject(found), _closed(measured, levels), _open(measured), _rest(measured, levels)]
    if OURS in measured and len(measured) > 1:
        parts.append(_ratios(measured, levels))
    parts += [problem for one in found["servers"].values() for problem in one["problems"]]
    return "\n\n".join(part for part in parts if part)


def best(one: dict[str, Any], clients: int) -> dict[str, Any]:
    """The better round of a level."""
    return dict(max((_level(turn, clients) for turn in one["rounds"]), key=_rate))


def _subject(found: dict[str, Any]) -> str:
    subject, alone = found["subject"], found["generator"]
    quickest = max(_rate(level) for level in alone.values())
    cost = max(level["cpu_us"] for level in alone.values())
    shares = [
        (level["others"], one["title"])
        for one in found["servers"].values()
        for level in [
            *(level for turn in one["rounds"] for level in turn["closed"].values()),
            *one["open"].values(),
        ]
    ]
    lines = [
        f"{subject['uri']}, {subject['num_classes']} classes; {subject['num_kept']} of "
        f"{subject['num_texts']} test texts (those with a clear fp32 label); "
        f"{found['cpu']}, {found['cores']} cores, shared with the load generator",
        f"load generator: {cost:.0f} us of CPU a request; {quickest:,.0f} requests/s with a server "
        "that does nothing",
    ]
    if shares:
        mean = sum(share for share, _ in shares) / len(shares)
        lines.append(
            f"other programs took {mean:.0%} of the cores meanwhile, at worst "
            f"{max(shares)[0]:.0%} ({max(shares)[1]})"
        )
    return "\n".join(lines)


def _closed(servers: dict[str, Any], levels: tuple[int, ...]) -> str:
    head = "".join(f"{f'{clients} client' + 's' * (clients > 1):>34}" for clients in levels)
    names = f"{'req/s (other)':>18}{'p50':>8}{'p99':>8}"
    lines = [
        "closed loop: right answers a second in the better round (in the other), milliseconds",
        f"{'':<{WIDTH}}{head}",
        f"{'':<{WIDTH}}{names * len(levels)}",
    ]
    for one in servers.values():
        cells = ""
        for clients in levels:
            rates = sorted((_rate(_level(turn, clients)) for turn in one["rounds"]), reverse=True)
            level = best(one, clients)
            rate = f"{rates[0]:,.0f} ({', '.join(f'{rate:,.0f}' for rate in rates[1:])})"
            cells += f"{rate:>18}{_ms(level['took_ms'], 'p50'):>8}{_ms(level['took_ms'], 'p99'):>8}"
        lines.append(f"{one['title']:<{WIDTH}}{cells}")
    return "\n".join(lines)


def _open(servers: dict[str, Any]) -> str:
    lines = [
        "open loop: Poisson arrivals, milliseconds from when a request was due",
        f"{'':<{WIDTH}}{'at 70 % of the peak':^31}{'at 3 and 10 times the peak':^59}",
        f"{'':<{WIDTH}}{'due/s':>7}{'p50':>8}{'p99':>8}{'lost':>7}"
        f"{'due/s':>9}{'right/s':>9}{'of peak':>9}{'p99':>9}{'refused':>9}{'its p99':>9}"
        f"{'lost':>7}",
    ]
    for one in servers.values():
        steady = one["open"]["steady"]
        lines.append(
            f"{one['title']:<{WIDTH}}{steady['rate']:>7,.0f}{_ms(steady['took_ms'], 'p50'):>8}"
            f"{_ms(steady['took_ms'], 'p99'):>8}{_lost(steady) + steady['refused']:>7}"
            f"{_flood(one['open']['flood'])}"
        )
        lines.append(f"{'':<{WIDTH + 30}}{_flood(one['open']['deluge'])}")
    return "\n".join(lines)


def _flood(flood: dict[str, Any]) -> str:
    goodput = flood["in_time"] / flood["seconds"]
    return (
        f"{flood['rate']:>9,.0f}{goodput:>9,.0f}{goodput / flood['peak']:>9.0%}"
        f"{_ms(flood['took_ms'], 'p99'):>9}{flood['refused']:>9,}"
        f"{_ms(flood['took_refused_ms'], 'p99'):>9}{_lost(flood):>7,}"
    )


def _rest(servers: dict[str, Any], levels: tuple[int, ...]) -> str:
    head = "".join(f"{f'CPU at {clients}':>12}" for clients in levels)
    lines = [
        "start: from the command to the first right answer, the better round (the other); memory: ",
        "PSS of all processes after closed loop; CPU: milliseconds of all cores a request;",
        "wrong, refused, failed: answers of closed loop that are not counted above",
        f"{'':<{WIDTH}}{'start s':>15}{'memory MB':>12}{'after 10 x':>12}{head}"
        f"{'wrong':>8}{'refused':>9}{'failed':>8}",
    ]
    for one in servers.values():
        starts = sorted(turn["start_s"] for turn in one["rounds"])
        start = f"{starts[0]:.1f} ({', '.join(f'{s:.1f}' for s in starts[1:])})"
        all_levels = [_level(turn, clients) for turn in one["rounds"] for clients in levels]
        wrong, refused, failed = (
            sum(level[key] for level in all_levels) for key in ("wrong", "refused", "failed")
        )
        lines.append(
            f"{one['title']:<{WIDTH}}{start:>15}{_memory(one):>12.0f}"
            f"{one['open']['deluge']['memory_mb']:>12.0f}"
            f"{''.join(f'{_cpu_ms(one, clients):>12.2f}' for clients in levels)}"
            f"{wrong:>8}{refused:>9}{failed:>8}"
        )
    return "\n".join(lines)


def _ratios(servers: dict[str, Any], levels: tuple[int, ...]) -> str:
    ours = servers[OURS]
    head = "".join(f"{f'req/s at {clients}':>13}" for clients in levels)
    lines = [
        "plumbline beside each: how many times the requests/s, how many times faster to start, "
        "how many times less memory",
        f"{'':<{WIDTH}}{head}{'p99 at 70 %':>13}{'start':>9}{'memory':>9}",
    ]
    for name, one in servers.items():
        if name == OURS:
            continue
        rates = "".join(
            f"{_rate(best(ours, clients)) / max(1e-9, _rate(best(one, clients))):>12.2f}x"
            for clients in levels
        )
        waits = [
            (who["open"]["steady"]["took_ms"] or {"p99": float("nan")})["p99"]
            for who in (one, ours)
        ]
        starts = [min(turn["start_s"] for turn in who["rounds"]) for who in (one, ours)]
        lines.append(
            f"{one['title']:<{WIDTH}}{rates}{waits[0] / waits[1]:>12.2f}x"
            f"{starts[0] / starts[1]:>8.1f}x{_memory(one) / _memory(ours):>8.1f}x"
        )
    return "\n".join(lines)


def _level(turn: dict[str, Any], clients: int) -> dict[str, Any]:
    return dict(turn["closed"][clients])


def _rate(level: dict[str, Any]) -> float:
    return float(level["right"] / level["seconds"])


def _cpu_ms(one: dict[str, Any], clients: int) -> float:
    return min(float(_level(turn, clients)["server_cpu_ms"]) for turn in one["rounds"])


def _memory(one: dict[str, Any]) -> float:
    return float(max(turn["memory_mb"] for turn in one["rounds"]))


def _lost(level: dict[str, Any]) -> int:
    """Wrong, failed and never answered."""
    return int(level["wrong"] + level["failed"] + level["unanswered"])


def _ms(series: dict[str, float] | None, name: str) -> str:
    if not series:
        return "-"
    return f"{series[name]:.1f}" if series[name] < 100 else f"{series[name]:.0f}"
