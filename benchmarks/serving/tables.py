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
        f"{subject['num_texts']} test texts (those with a clear fp32 label)",
        f"{found['machine']}; shared with the load generator",
        f"load generator: {cost:.0f} us of CPU a request; {quickest:,.0f} requests/s with a server "
        "that does nothing",
    ]
    if shares:
        mean = sum(share for share, _ in shares) / len(shares)
        lines.append(
            f"other programs took {mean:.0%} of the cores meanwhile, at worst "
            f"{max(shares)[0]:.0%} ({max(shares)[1]}); a measurement above "
            f"{found['max_others']:.0%} was repeated"
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
    names = f"{'due/s':>8}{'right/s':>9}{'of peak':>9}{'p50':>8}{'p99':>8}{'refused':>9}"
    names += f"{'its p99':>9}{'late':>8}{'lost':>7}{'recovery s':>12}{'peak before, after':>20}"
    lines = [
        "open loop: Poisson arrivals, milliseconds from when a request was due; peak: right "
        "answers a second of a closed loop",
        "directly before and after (shares are of the mean). Recovery: seconds after the arrivals "
        "until 90 % of the requests at",
        "70 % of the peak are answered right within 8 times the service time; '-': not within 4 s",
        "late: p99 of how long the load generator itself was late in sending, which is part of all "
        "times",
        f"{'':<{WIDTH}}{'arrivals':>10}{names}",
    ]
    for one in servers.values():
        title = one["title"]
        for level in one["open"].values():
            lines.append(f"{title:<{WIDTH}}{_describe_open(level)}")
            title = ""
    return "\n".join(lines)


def _describe_open(level: dict[str, Any]) -> str:
    goodput = level["in_time"] / level["seconds"]
    recovery = "-" if level["recovery_s"] is None else f"{level['recovery_s']:.2f}"
    peaks = ", ".join(f"{peak:,.0f}" for peak in level["peaks"])
    return (
        f"{level['rate'] / level['peaks'][0]:>8.1f} x{level['rate']:>8,.0f}{goodput:>9,.0f}"
        f"{goodput / level['peak']:>9.0%}{_ms(level['took_ms'], 'p50'):>8}"
        f"{_ms(level['took_ms'], 'p99'):>8}{level['refused']:>9,}"
        f"{_ms(level['took_refused_ms'], 'p99'):>9}{_ms(level['sent_late_ms'], 'p99'):>8}"
        f"{_lost(level):>7,}{recovery:>12}{peaks:>20}"
    )


def _rest(servers: dict[str, Any], levels: tuple[int, ...]) -> str:
    head = "".join(f"{f'CPU at {clients}':>12}" for clients in levels)
    lines = [
        "start: from the command to the first right answer, the better round (the other); memory: ",
        "PSS of all processes after closed loop; CPU: milliseconds of all cores a request;",
        "wrong, refused, failed: answers of closed loop that are not counted above; wrong ones at "
        "1, 16 and 64 clients,",
        "and how many of their texts get the right answer alone",
        f"{'':<{WIDTH}}{'start s':>15}{'memory MB':>12}{'after 10 x':>12}{head}"
        f"{'wrong':>14}{'right alone':>14}{'refused':>9}{'failed':>8}",
    ]
    for one in servers.values():
        starts = sorted(turn["start_s"] for turn in one["rounds"])
        start = f"{starts[0]:.1f} ({', '.join(f'{s:.1f}' for s in starts[1:])})"
        all_levels = [_level(turn, clients) for turn in one["rounds"] for clients in levels]
        refused, failed = (sum(level[key] for level in all_levels) for key in ("refused", "failed"))
        wrong = ", ".join(
            str(sum(_level(turn, clients)["wrong"] for turn in one["rounds"])) for clients in levels
        )
        texts, alone = (
            sum(turn[key] for turn in one["rounds"]) for key in ("wrong_texts", "right_alone")
        )
        lines.append(
            f"{one['title']:<{WIDTH}}{start:>15}{_memory(one):>12.0f}"
            f"{one['open']['deluge']['memory_mb']:>12.0f}"
            f"{''.join(f'{_cpu_ms(one, clients):>12.2f}' for clients in levels)}"
            f"{wrong:>14}{f'{alone} of {texts}':>14}{refused:>9}{failed:>8}"
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
