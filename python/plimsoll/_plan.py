"""Plans as objects that print."""

from __future__ import annotations

import html
from typing import Any, Dict, List, Optional

from ._text import size

_KINDS = ("weights", "gradients", "optimizer", "activations", "workspace", "data", "program")


class Plan:
    """What training will need, before it runs: bytes of the whole process, by kind, and what other budgets would cost."""

    def __init__(self, report: Dict[str, Any], title: str, owners: Dict[str, int], page: Optional[str]):
        self.title = title
        self.fits: bool = bool(report["fits"])
        self.budget: Optional[int] = report["budget_bytes"] or None
        self.chosen: Dict[str, Any] = report["chosen"]
        self.unconstrained: Dict[str, Any] = report["unconstrained"]
        self.minimum_budget: int = report["minimum_budget_bytes"]
        self.largest_batch: int = report["largest_batch"]
        self.largest_batch_open: bool = bool(report["largest_batch_open"])  # larger ones may fit
        self.frontier: List[Dict[str, Any]] = report["frontier"]
        self.peak: List[Dict[str, Any]] = report["peak"]
        self.why: str = report["why"] or ""
        self.prevents_split: str = report["prevents_split"] or ""
        self.resident_before: Dict[str, int] = owners
        self._page = page

    @property
    def process_bytes(self) -> int:
        """Resident bytes of the whole process at their highest."""
        return (self.chosen if self.fits else self.unconstrained)["process_bytes"]

    @property
    def arena_bytes(self) -> int:
        return (self.chosen if self.fits else self.unconstrained)["arena_bytes"]

    def __repr__(self):
        return "<plimsoll.Plan: %s, %s>" % (size(self.process_bytes), "fits" if self.fits else "does not fit")

    def __str__(self):
        lines = []
        shown = self.chosen if self.fits else self.unconstrained
        if self.budget:
            lines.append("%s %s %s" % (self.title, "fits" if self.fits else "DOES NOT FIT", size(self.budget)))
            if not self.fits:
                lines.append("  smallest budget that works: %s%s" % (size(self.minimum_budget),
                                                                   ": " + self.why if self.why else ""))
        else:
            lines.append("%s, no budget" % self.title)
        lines.append("  %s for the process, %s of it the arena; class %s" % (size(shown["process_bytes"]),
                                                                            size(shown["arena_bytes"]), shown["class_"]))
        lines.append("  micro-batch %d x %d, %d steps recomputed, %s spilled, %.3g s an update expected" % (
            shown["micro_batch"], shown["accumulate"], shown["recomputed"], size(shown["spilled"]), shown["seconds"]))
        lines.append("  " + ", ".join("%s %s" % (kind, size(shown[kind])) for kind in _KINDS if shown[kind]))
        if self.resident_before:
            owners = sorted(self.resident_before.items(), key=lambda item: -item[1])
            lines.append("  resident before training: %s (%s)" % (
                size(sum(self.resident_before.values())), ", ".join("%s %s" % (name, size(held)) for name, held in owners)))
        lines.append("  smallest budget %s; largest batch %s%d" % (
            size(self.minimum_budget), "at least " if self.largest_batch_open else "", self.largest_batch))
        return "\n".join(lines)

    def _repr_html_(self):
        text = "<pre>%s</pre>" % html.escape(str(self))
        if not self._page:
            return text
        return text + "<iframe style='width:100%%;height:640px;border:0' srcdoc=\"%s\"></iframe>" % html.escape(
            self._page, quote=True)
