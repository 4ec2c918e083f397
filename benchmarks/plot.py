"""A line chart as SVG text, for what ``length.py`` measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 360, 60, 40, 20, 45
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c")

Points = Sequence[tuple[float, float]]


def drawn(lines: Mapping[str, Points], *, x: str, y: str, title: str) -> str:
    """The chart; both axes begin at 0."""
    most_x = max(px for points in lines.values() for px, _ in points)
    most_y = 1.2 * max(py for points in lines.values() for _, py in points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_WIDTH / 2, 20, title, "middle"),
        _text(_WIDTH / 2, _HEIGHT - 8, x, "middle"),
        _text(12, _TOP - 12, y),
    ]
    for tenth in range(6):
        at_y, at_x = _at(0, most_y * tenth / 5, most_x, most_y)[1], _at(most_x * tenth / 5, 0, most_x, most_y)[0]
        parts.append(f'<path d="M{_LEFT} {at_y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(_text(_LEFT - 6, at_y + 4, f"{most_y * tenth / 5:.2f}", "end"))
        parts.append(_text(at_x, _HEIGHT - _BOTTOM + 16, f"{most_x * tenth / 5:.0f}", "middle"))
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join("{:.1f},{:.1f}".format(*_at(px, py, most_x, most_y)) for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<g fill="{colour}">{_text(_LEFT + 10, _TOP + 14 + 16 * number, name)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _at(x: float, y: float, most_x: float, most_y: float) -> tuple[float, float]:
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + width * x / most_x, _TOP + height * (1 - y / most_y)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
