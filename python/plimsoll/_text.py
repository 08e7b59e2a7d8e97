"""Small pieces of text: bytes, shapes, wrapped lines, escaped HTML."""

import html
import textwrap


def size(count):
    """Two decimals: a request just above what is free must not look like it."""
    if count is None:
        return "?"
    value, unit = float(count), 0
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    while abs(value) >= 1023.995 and unit + 1 < len(units):
        value, unit = value / 1024, unit + 1
    return ("%.2f %s" if unit else "%.0f %s") % (value, units[unit])


def shape(dims, dtype=""):
    text = " x ".join(str(d) for d in dims) if len(dims) else "one number"
    return "%s %s" % (text, dtype) if dtype else text


def wrap(text, indent, width=100, first=""):
    """Lines behind `indent` blanks, the first one behind `first`."""
    lines = textwrap.wrap(safe(text), max(20, width - indent), break_on_hyphens=False) or [""]
    return ("\n" + " " * indent).join([first + lines[0]] + lines[1:])


def safe(text):
    """What a log or a program brings never steers a terminal."""
    return "".join(c if c.isprintable() or c == " " else "?" for c in str(text))


def _block(lines):
    """One paragraph of an explanation: a heading, then a list, steps, pairs of a word and a sentence, or a picture."""
    made = []
    if lines and not lines[0].startswith(" "):
        made.append("<p><b>%s</b></p>" % escape(lines.pop(0)))
    if lines and lines[0].startswith("  1. "):
        steps = []
        for line in lines:
            if line[2:3].isdigit():
                steps.append([line.split(". ", 1)[1]])
            else:
                steps[-1].append(line.strip())
        rows = ("<li>%s<br><code>%s</code>%s</li>" % (escape(title), escape(rest[0]) if rest else "", "".join(
            "<br><small>%s</small>" % escape(one) for one in rest[1:])) for title, *rest in steps)
        return made + ["<ol>%s</ol>" % "".join(rows)]
    if any(line.startswith("  - ") for line in lines):
        made += ["<p>%s</p>" % escape(line.strip()) for line in lines if not line.startswith("  - ")]
        return made + ["<ul>%s</ul>" % "".join("<li>%s</li>" % escape(line[4:]) for line in lines if line.startswith("  - "))]
    if lines and all(line.startswith("  ") and line[12:13] == " " for line in lines):
        rows = ("<tr><td style='text-align:left;opacity:.7'>%s</td><td style='text-align:left;white-space:pre'>%s</td></tr>"
                % (escape(line[:13].strip()), escape(line[13:])) for line in lines)
        return made + ["<table>%s</table>" % "".join(rows)]
    return made + (["<pre>%s</pre>" % "\n".join(escape(line) for line in lines)] if lines else [])


def page(text):
    """The text of an explanation for a notebook."""
    parts = [part for block in text.split("\n\n") for part in _block(block.split("\n"))]
    return "<div style='border-left:4px solid #c0392b;padding:.4em 1em;margin:.5em 0'>%s</div>" % "".join(parts)


def escape(text):
    return html.escape(safe(text))
