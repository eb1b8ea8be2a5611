"""Durations as a person reads them."""


def format_duration(seconds: float) -> str:
    """Return `45 s`, `2 min 10 s` or `1 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
