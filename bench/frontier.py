"""Draws time against memory, one panel a model, as an SVG that reads on light and on dark paper."""
import math

PANEL, HEIGHT, LEFT, TOP, BOTTOM, GAP = 300, 330, 62, 78, 58, 26

STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #52514e; }
  .title { font-weight: 600; font-size: 14px; fill: #0b0b0b; }
  .paper { fill: #fcfcfb; }
  .grid { stroke: #e1e0d9; stroke-width: 1; }
  .goal { fill: none; stroke: #898781; stroke-width: 1; stroke-dasharray: 4 4; }
  .ours { stroke: #2a78d6; fill: #2a78d6; }
  .theirs { stroke: #eb6834; fill: #eb6834; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .dot { stroke: #fcfcfb; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #c3c2b7; }
    .title { fill: #ffffff; }
    .paper { fill: #1a1a19; }
    .grid { stroke: #2c2c2a; }
    .ours { stroke: #3987e5; fill: #3987e5; }
    .theirs { stroke: #d95926; fill: #d95926; }
    .dot { stroke: #1a1a19; }
  }
"""


def round_step(most, parts=4):
    """A step of 1, 2 or 5 times a power of ten that gives about `parts` parts."""
    raw = most / parts
    power = 10 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw)


def points_of(points):
    """Measured points as (MiB, seconds), from little memory to much."""
    return sorted((p["bytes"] / 2**20, p["seconds"], p) for p in points if "seconds" in p)


def dots(points, x, y, kind, note):
    parts = ['<path class="line %s" d="M%s"/>' % (kind, " L".join("%.1f %.1f" % (x(m), y(s)) for m, s, _ in points))] if len(points) > 1 else []
    for m, s, p in points:
        parts.append('<circle class="dot %s" cx="%.1f" cy="%.1f" r="5"><title>%s: %.0f MiB, %.2f s a step</title></circle>' % (kind, x(m), y(s), note(p), m, s))
    return parts


def our_note(point):
    return "Plimsoll without a budget" if point.get("share") is None else "Plimsoll, budget %.0f MiB for the process" % (point["budget_bytes"] / 2**20)


def their_note(point):
    return "PyTorch, %d blocks recomputed" % point["recomputed"] if point["checkpoint"] else "PyTorch"


def panel(row, left, limit):
    ours, theirs = points_of(row["plimsoll"]), points_of(row["pytorch"])
    most_x, most_y = (1.08 * max(p[k] for p in ours + theirs) for k in (0, 1))
    width, height = PANEL - LEFT, HEIGHT - TOP - BOTTOM
    x = lambda m: left + LEFT + width * m / most_x  # noqa: E731
    y = lambda s: TOP + height * (1 - s / most_y)  # noqa: E731
    parts = ['<text class="title" x="%.1f" y="%d">%s, batch %d, %s</text>' % (left + LEFT, TOP - 14, row["model"], row["batch"], {"sgd": "SGD", "adamw": "AdamW"}[row["optimizer"]])]
    step = round_step(most_y)
    for i in range(int(most_y / step) + 1):
        parts.append('<path class="grid" d="M%.1f %.1f H%.1f"/>' % (x(0), y(i * step), x(most_x)))
        parts.append('<text x="%.1f" y="%.1f" text-anchor="end">%g s</text>' % (x(0) - 8, y(i * step) + 4, i * step))
    step = round_step(most_x, 3)
    for i in range(int(most_x / step) + 1):
        parts.append('<text x="%.1f" y="%.1f" text-anchor="middle">%g</text>' % (x(i * step), TOP + height + 18, i * step))
    parts.append('<text x="%.1f" y="%.1f" text-anchor="middle">MiB above the idle process</text>' % (x(most_x / 2), TOP + height + 38))
    goal_x, goal_y = x(row["wanted_bytes"] / 2**20), y(limit * theirs[[p["checkpoint"] for _, _, p in theirs].index(0)][1])
    parts.append('<path class="goal" d="M%.1f %.1f H%.1f V%.1f"><title>goal: %g of PyTorch\'s memory in %g of its time</title></path>' % (
        x(0), goal_y, goal_x, y(0), row["wanted_share"], limit))
    return parts + dots(theirs, x, y, "theirs", their_note) + dots(ours, x, y, "ours", our_note)


def draw(rows, limit):
    width = len(rows) * (PANEL + GAP) + GAP
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">' % (width, HEIGHT, width, HEIGHT),
             "<title>Seconds a training step against memory: Plimsoll under budgets, PyTorch with and without recomputed blocks</title>",
             "<style>%s</style>" % STYLE, '<rect class="paper" width="%d" height="%d" rx="8"/>' % (width, HEIGHT)]
    legend = LEFT
    for kind, text, room in (("ours", "Plimsoll under budgets", 168), ("theirs", "PyTorch, checkpoint none, half, all", 232)):
        parts.append('<circle class="dot %s" cx="%d" cy="28" r="5"/><text x="%d" y="32">%s</text>' % (kind, legend, legend + 12, text))
        legend += room
    parts.append('<path class="goal" d="M%d 28 h22"/><text x="%d" y="32">goal: inside</text>' % (legend, legend + 30))
    for i, row in enumerate(rows):
        parts += panel(row, i * (PANEL + GAP), limit)
    return "\n".join(parts) + "\n</svg>\n"
