"""The timeline of one request as a picture: a lane a unit, issue solid, pipeline pale."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.schedule import Schedule
from runtimes.fpga.card.transfers import io_us
from runtimes.fpga.plain import plain

_WIDTH, _LEFT, _RIGHT, _LANE, _TOP = 1000, 90, 40, 56, 48
_COLOURS = {"matrix": "#1f5f99", "element": "#b35c00"}
_MOST_TICKS = 12


def timeline_svg(compiled: Compiled, schedule: Schedule) -> str:
    """An SVG document; hovering over a bar names its instruction and its cycles."""
    span = max(schedule.cycles, 1)
    scale = (_WIDTH - _LEFT - _RIGHT) / span
    card = compiled.card
    caption = (
        f"{compiled.lowered.name or 'graph'} on {card.name} at {compiled.release.name}: "
        f"{schedule.cycles} cycles at {card.clock_mhz:g} MHz, plus {io_us(compiled):.3f} us "
        "of host and link (simulated)"
    )
    height = _TOP + 2 * _LANE + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="24">{escape(plain(caption))}</text>',
    ]
    for lane, (unit, colour) in enumerate(_COLOURS.items()):
        top = _TOP + lane * _LANE
        parts.append(f'<text x="10" y="{top + 24}">{unit}</text>')
        for event in schedule.events:
            instruction = compiled.program[event.instruction]
            if instruction.unit != unit:
                continue
            label = f"{plain(instruction.name)}: cycles {event.begun} to {event.done}"
            parts.append(f"<g aria-label={quoteattr(label)}><title>{escape(label)}</title>")
            for begin, end, opacity in (
                (event.begun, event.issued, "1"),
                (event.issued, event.done, "0.3"),
            ):
                parts.append(
                    f'<rect x="{_LEFT + begin * scale:.2f}" y="{top + 6}" '
                    f'width="{(end - begin) * scale:.2f}" height="{_LANE - 24}" '
                    f'fill="{colour}" fill-opacity="{opacity}" stroke="white" '
                    'stroke-width="0.5"/>'
                )
            parts.append("</g>")
    axis = _TOP + 2 * _LANE
    for cycles in range(0, span + 1, _tick(span)):
        x = _LEFT + cycles * scale
        parts.append(
            f'<line x1="{x:.2f}" y1="{axis}" x2="{x:.2f}" y2="{axis + 5}" stroke="black"/>'
            f'<text x="{x:.2f}" y="{axis + 20}" text-anchor="middle">'
            f"{cycles}</text>"
        )
    parts.append(f'<text x="10" y="{axis + 20}">cycles</text></svg>')
    return "\n".join(parts) + "\n"


def _tick(span: int) -> int:
    """The least of 1, 2, 5, 10, 20, ... cycles that gives few enough ticks."""
    decade = 1
    while True:
        for step in (decade, 2 * decade, 5 * decade):
            if span // step <= _MOST_TICKS:
                return step
        decade *= 10
