#!/usr/bin/env python3
"""Draws a receiver-window transfer from the events of `tributary sim --demo rw --events`.

Events come on the standard input, the drawing (SVG) goes to the standard output.
Needs nothing but Python 3. docs/guide.md has the command that makes docs/img/transfer.svg.
"""

import re
import sys

WIDTH, HEIGHT = 960, 500
LEFT, RIGHT, TOP, BOTTOM = 64, 18, 84, 52
INK, GRID = "#222222", "#e6e6e6"
BAND, BASE = "#e4eefb", "#0f46aa"
FLIGHT, FRESH, AGAIN, LOST, ASKED = "#c9c9c9", "#5b6b7a", "#14915f", "#d0202a", "#e08700"


def read(lines):
    """The events that are drawn, and the sizes of the transfer."""
    run = {"flight": [], "writes": [], "lost": [], "asked": [], "done": None, "end": 0, "window": 0, "packets": 0}
    arrived_again = set()
    for line in lines:
        size = re.search(r"in (\d+) packets of \d+, .*window of (\d+) packets", line)
        if size:
            run["packets"], run["window"] = int(size[1]), int(size[2])
        event = re.match(r" *(\d+) (\w+) +(\w+) +(.*)", line)
        if not event:
            continue
        slot, who, what, rest = int(event[1]), event[2], event[3], event[4]
        run["end"] = max(run["end"], slot)
        packet = re.search(r"pidx=(\d+)", rest)
        if who == "sender" and what == "sends" and rest.startswith("DATA"):
            again = "round=" in rest
            arrival = re.search(r"arrives in slot (\d+)", rest)
            if arrival:
                run["flight"].append((slot, int(arrival[1]), int(packet[1]), again))
            else:
                run["lost"].append((slot, int(packet[1])))
        elif who == "receiver" and what == "takes" and rest.startswith("DATA"):
            if "round=" in rest:
                arrived_again.add((slot, int(packet[1])))
        elif who == "receiver" and what == "writes":
            number = int(re.search(r"packet (\d+)", rest)[1])
            run["writes"].append((slot, number, (slot, number) in arrived_again))
        elif who == "receiver" and what == "sends" and rest.startswith("RETX"):
            # The two copies of a request leave in one slot.
            if (slot, int(packet[1])) not in run["asked"]:
                run["asked"].append((slot, int(packet[1])))
        elif who == "receiver" and what == "completes":
            run["done"] = slot
    if not run["packets"] or not run["writes"]:
        sys.exit("no transfer found; give it the output of `tributary sim --demo rw --events`")
    return run


def first_holes(run):
    """(slot, first hole) whenever the first hole moves."""
    got, base, steps = set(), 0, [(run["writes"][0][0], 0)]
    for slot, number, _ in run["writes"]:
        got.add(number)
        before = base
        while base in got:
            base += 1
        if base != before:
            steps.append((slot, base))
    return steps


def draw(run):
    """The SVG."""
    packets, window = run["packets"], run["window"]
    last = (run["end"] // 50 + 1) * 50
    x = lambda slot: LEFT + (WIDTH - LEFT - RIGHT) * slot / last
    y = lambda number: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * number / packets
    out = []
    put = out.append
    put(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="DejaVu Sans, Arial, sans-serif" font-size="13" fill="{INK}">')
    put(f'<title>A receiver-window transfer over a network that loses and reorders packets</title>')
    put(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>')

    steps = first_holes(run)
    end = run["done"] or run["end"]
    low, high = [], []
    for (slot, base), after in zip(steps, [slot for slot, _ in steps[1:]] + [end]):
        top = min(base + window, packets)
        low += [(x(slot), y(base)), (x(after), y(base))]
        high += [(x(slot), y(top)), (x(after), y(top))]
    path = lambda points: " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    put(f'<polygon points="{path(low + high[::-1])}" fill="{BAND}"/>')

    for slot in range(0, last + 1, 50):
        put(f'<path d="M{x(slot):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{GRID}"/>')
        put(f'<text x="{x(slot):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{slot}</text>')
    step = 32 if packets <= 256 else packets // 8
    for number in range(0, packets + 1, step):
        put(f'<path d="M{LEFT} {y(number):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        put(f'<text x="{LEFT - 8}" y="{y(number) + 4:.1f}" text-anchor="end">{number}</text>')
    put(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">time (slots of one packet)</text>')
    put(f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">packet number</text>')

    flight = "".join(f"M{x(a):.1f} {y(n):.1f}H{x(b):.1f}" for a, b, n, again in run["flight"] if not again)
    put(f'<path d="{flight}" stroke="{FLIGHT}" stroke-width="1" fill="none"/>')
    flight = "".join(f"M{x(a):.1f} {y(n):.1f}H{x(b):.1f}" for a, b, n, again in run["flight"] if again)
    put(f'<path d="{flight}" stroke="{AGAIN}" stroke-width="1" stroke-opacity=".55" fill="none"/>')
    put(f'<polyline points="{path(low)}" fill="none" stroke="{BASE}" stroke-width="2"/>')
    for slot, number, again in run["writes"]:
        put(f'<circle cx="{x(slot):.1f}" cy="{y(number):.1f}" r="{4 if again else 2.2}" fill="{AGAIN if again else FRESH}"/>')
    cross = "".join(f"M{x(s) - 4:.1f} {y(n) - 4:.1f}l8 8m0 -8l-8 8" for s, n in run["lost"])
    put(f'<path d="{cross}" stroke="{LOST}" stroke-width="2" fill="none"/>')
    asked = "".join(f"M{x(s):.1f} {y(n) - 5:.1f}l5 5l-5 5l-5 -5z" for s, n in run["asked"])
    put(f'<path d="{asked}" stroke="{ASKED}" stroke-width="2" fill="#ffffff"/>')
    if run["done"]:
        put(f'<path d="M{x(end):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{INK}" stroke-dasharray="4 3"/>')
        put(f'<text x="{x(end) + 5:.1f}" y="{HEIGHT - BOTTOM - 8}">complete</text>')

    put(f'<text x="{LEFT}" y="22" font-size="16">{packets} packets through a window of {window}, '
        f'{len(run["lost"])} lost on the way, {len(run["asked"])} requests</text>')
    legend(put)
    put("</svg>")
    return "\n".join(out) + "\n"


def legend(put):
    """Two rows above the drawing."""
    at = [LEFT, LEFT + 205, LEFT + 430, LEFT + 650]
    text = lambda i, row, words: put(f'<text x="{at[i] + 30}" y="{row + 4}">{words}</text>')
    one, two = 46, 68
    put(f'<path d="M{at[0]} {one}H{at[0] + 22}" stroke="{FLIGHT}" stroke-width="2"/>'
        f'<circle cx="{at[0] + 22}" cy="{one}" r="2.6" fill="{FRESH}"/>')
    text(0, one, "sent, then written")
    put(f'<path d="M{at[0]} {two}H{at[0] + 22}" stroke="{AGAIN}" stroke-width="1.5"/>'
        f'<circle cx="{at[0] + 22}" cy="{two}" r="4" fill="{AGAIN}"/>')
    text(0, two, "sent again, written")
    put(f'<path d="M{at[1] + 8} {one - 4}l8 8m0 -8l-8 8" stroke="{LOST}" stroke-width="2"/>')
    text(1, one, "lost by the network")
    put(f'<path d="M{at[1] + 12} {two - 5}l5 5l-5 5l-5 -5z" stroke="{ASKED}" stroke-width="2" fill="#ffffff"/>')
    text(1, two, "receiver asks for it")
    put(f'<path d="M{at[2]} {one}H{at[2] + 22}" stroke="{BASE}" stroke-width="2"/>')
    text(2, one, "first hole (wbase)")
    put(f'<rect x="{at[2]}" y="{two - 6}" width="22" height="12" fill="{BAND}"/>')
    text(2, two, "window of the receiver")


if __name__ == "__main__":
    sys.stdout.write(draw(read(sys.stdin)))
