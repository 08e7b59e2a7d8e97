#!/usr/bin/env python3
"""The page in a real browser: page.py PROGRAM OUT. Screenshots stay in OUT."""
import json
import os
import re
import subprocess
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import browser  # noqa: E402
import samples  # noqa: E402

program, out = os.path.abspath(sys.argv[1]), sys.argv[2]


def report(*arguments):
    return subprocess.run([program, "report", *arguments], check=True, capture_output=True, text=True).stdout


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.trace, cls.page = os.path.join(out, "run.trace"), os.path.join(out, "run.html")
        with open(os.devnull, "w") as sys.stdout:
            samples.write_training(cls.trace, 3)
        sys.stdout = sys.__stdout__
        report(cls.trace, "-o", cls.page)
        cls.json = json.loads(report(cls.trace, "--json"))

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.browser.resize(1440, 1000)
        self.browser.emulate(False)

    def show(self, path, fragment=""):
        self.browser.requests()
        self.browser.log("browser")
        self.browser.open(path, fragment)
        return self.browser

    def assert_calm(self):
        """No message on the console, and no request but for the file itself."""
        self.assertEqual([e for e in self.browser.log("browser")], [])
        asked = [u for u in self.browser.requests() if not u.startswith(("file://", "about:blank", "data:"))]
        self.assertEqual(asked, [])

    def test_opens_without_console_message_or_network_request(self):
        b = self.show(self.page)
        self.assertEqual(b.value("document.title"), "resnet50.onnx · Plimsoll")
        self.assertEqual(self.browser.log("browser"), [])
        self.assertEqual([u for u in self.browser.requests() if u.startswith("file://")], ["file://" + os.path.abspath(self.page)])
        self.assert_calm()

    def test_the_watch_on_console_and_network_sees_what_it_should(self):
        b = self.show(self.page)
        b.run("console.error('seen'); new Image().src = 'http://127.0.0.1:9/x.png'")
        b.frame()
        self.assertRaises(AssertionError, self.assert_calm)

    def test_the_page_of_a_resnet50_plan_shows_its_peak_to_the_byte(self):
        maker, page = os.path.join(os.path.dirname(os.path.abspath(program)), "tests", "test_report_plan_timeline"), os.path.join(out, "plan.html")
        if not os.path.exists(maker):
            self.skipTest("tests are not built")
        peak, arena = map(int, subprocess.run([maker, page], check=True, capture_output=True, text=True).stdout.split())
        b = self.show(page, "#stack=tensor")
        self.assertEqual(b.value("[Math.max(...plimsoll.model.totals), plimsoll.summary.peak.bytes, plimsoll.model.extent]"), [peak, peak, arena])
        self.assertIn(f"{peak:,} bytes", b.value("document.getElementById('figures').innerText"))
        b.hover("#chart", 0.5, 0.6)
        self.assertFalse(b.value("document.getElementById('tip').hidden"))
        b.click("#map", 0.5, 0.95)
        b.screenshot(os.path.join(out, "plan.png"))
        self.assert_calm()

    def training_plan(self):
        """resnet50 in training, batch 16, within 700 MiB: the page, and what `plan --json` said of it."""
        model, page, said = (os.path.join(out, n) for n in ("resnet50.onnx", "training-plan.html", "training-plan.json"))
        if not hasattr(Page, "planned"):
            subprocess.run([program, "zoo", "resnet50", "-o", model], check=True, capture_output=True)
            with open(said, "w") as file:
                subprocess.run([program, "plan", "resnet50.onnx", "--batch", "16", "--optimizer", "sgd", "--momentum", "0.9", "--budget", "700MiB",
                                "--report", os.path.abspath(page), "--json"], check=True, stdout=file, cwd=out)
            os.remove(model)
            with open(said) as file:
                Page.planned = json.load(file)
        return page, Page.planned

    def test_the_page_of_a_training_plan_is_that_plan_to_the_byte(self):
        page, plan = self.training_plan()
        b = self.show(page)
        self.assertEqual(b.value("[Math.max(...plimsoll.model.totals), plimsoll.summary.peak.bytes, plimsoll.model.extent, plimsoll.summary.budget_bytes]"),
                         [plan["process_bytes"], plan["process_bytes"], plan["arena_bytes"], 700 << 20])
        self.assertLessEqual(plan["process_bytes"], 700 << 20)
        names = {"weight": "weights", "gradient": "gradients", "optimizer": "optimizer", "activation": "activations", "workspace": "workspace", "data": "data", "process": "program"}
        kinds = b.value("plimsoll.summary.peak.kinds")
        for word, name in names.items():
            self.assertEqual(kinds.get(word, 0), plan["by_kind"][name], word)
        phases = b.run("const m = plimsoll.model; return [...new Set(Array.from(m.mark.type, (t, i) => t === 1 ? m.mark.value[i] : 0))]")
        self.assertLessEqual({2, 3, 6}, set(phases), "forward, backward, recompute")
        again = b.run("const m = plimsoll.model; return Array.from(m.mark.type, (t, i) => t === 2 && m.texts[m.mark.text[i]].endsWith('(again)')).filter(Boolean).length")
        self.assertEqual(again, plan["recomputed"])
        told = b.run("const m = plimsoll.model; return Array.from(m.mark.type, (t, i) => t === 2 ? m.texts[m.mark.text[i]] : '').filter((t) => t.includes('ConvGrad'))")
        self.assertGreater(len(told), 50)
        self.assertEqual([t for t in told if not re.match(r"\S*(conv|downsample)\S*, ConvGrad", t)], [], "steps of the backward pass name their layer")
        self.assertEqual(b.value("[plimsoll.axis.unit, plimsoll.model.times.length === plimsoll.model.ticks]"), ["time", True])
        expected = b.value("plimsoll.model.times.at(-1)")
        self.assertLess(abs(expected / plan["seconds_per_step"] - 1), 0.1, "the axis is the time that the plan expects")
        self.assert_calm()

    def test_the_frontier_of_a_training_plan_has_the_chosen_one_and_the_others(self):
        page, plan = self.training_plan()
        b = self.show(page, "#view=frontier")
        points = b.value("plimsoll.summary.frontier")
        chosen = [p for p in points if p["chosen"]]
        self.assertEqual([(p["budget_bytes"], p["peak_bytes"], p["seconds"]) for p in chosen], [(700 << 20, plan["process_bytes"], plan["seconds_per_step"])])
        others = {(p["budget"], p["seconds"]) for p in plan["frontier"]}
        self.assertGreater(len(points), 5)
        self.assertTrue(all((p["budget_bytes"], p["seconds"]) in others for p in points if not p["chosen"]))
        self.assertIn("plimsoll plan resnet50.onnx --batch 16 --optimizer sgd --momentum 0.9 --budget 700MiB", b.value("document.getElementById('frontier-panel').innerText"))
        self.assert_calm()

    def test_screenshots_of_a_training_plan(self):
        page, _ = self.training_plan()
        for width, height in ((1440, 1640), (390, 2600)):
            for dark in (False, True):
                self.browser.resize(width, height)
                self.browser.emulate(dark)
                b = self.show(page, "#view=frontier")
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width, "the page is wider than the screen")
                b.screenshot(os.path.join(out, f"plan-{width}-{'dark' if dark else 'light'}.png"))
                self.assert_calm()

    def test_a_recorded_training_run_is_a_page_with_plan_and_measurement(self):
        model, trace, page = (os.path.join(out, n) for n in ("lenet.onnx", "lenet.trace", "lenet.html"))
        subprocess.run([program, "zoo", "lenet", "-o", model], check=True, capture_output=True)
        result = subprocess.run([program, "train", model, "--data", "synthetic", "--batch", "16", "--steps", "7", "--budget", "1GiB", "--trace", trace, "--trace-every", "5", "--report", page, "--json"],
                                check=True, capture_output=True, text=True)
        train, told = json.loads(result.stdout), json.loads(report(trace, "--json"))
        b = self.show(page)
        self.assertEqual(b.value("plimsoll.summary"), told)
        self.assertEqual(told["arena_bytes"], train["planned_arena_bytes"])
        self.assertEqual(told["loop"]["steps"], 4)
        self.assertFalse(told["loop"]["leaking"])
        rows = {r["what"]: (r["planned_bytes"], r["measured_bytes"]) for r in told["planned_and_measured"]}
        self.assertEqual(rows["arena"], (train["arena_bytes"], train["arena_bytes"]))
        self.assertEqual(rows["process, at its highest"][0], train["planned_process_bytes"])
        loss = [s for s in told["series"] if s["name"] == "loss"][0]
        self.assertEqual((loss["samples"], loss["unit"]), (7, "number"))
        self.assertIn("Loss", b.value("document.getElementById('figures').innerText"))
        b.open(page, "#view=compare")
        self.assertIn("equal, to the byte", b.value("document.body.innerText"))
        b.resize(390, 800)
        b.open(page, "#view=compare")
        wide, needed, there = b.run("const s = document.querySelector('#compare-panel .scroll'); return [s.querySelector('td').clientWidth, s.scrollWidth, s.clientWidth]")
        self.assertGreater(wide, 150, "on a phone the words have room")
        self.assertLessEqual(needed, there, "and nothing is cut")
        b.resize(1440, 1000)
        b.open(page, "#axis=time")
        gaps = b.value("plimsoll.model.gaps.length")
        self.assertGreater(gaps, 0, "of seven updates not all are recorded")
        self.assertEqual(b.value("plimsoll.chart.hatched"), gaps)
        points = told["frontier"]
        self.assertEqual([(p["budget_bytes"], p["peak_bytes"]) for p in points if p["chosen"]], [(1 << 30, train["planned_process_bytes"])])
        self.assertGreater(len(points), 2)
        b.open(page, "#view=frontier")
        panel = b.value("document.getElementById('frontier-panel').innerText")
        self.assertIn("The chosen plan", panel)
        self.assertIn(f"plimsoll train {model} --data synthetic --steps 7 --batch 16 --budget 1024MiB", panel)
        self.assert_calm()

    def recorded_run(self):
        """A small run with validation: its page, and what report --json says of it."""
        model, page, trace, table = (os.path.join(out, n) for n in ("tabular.onnx", "validated.html", "validated.trace", "validated.csv"))
        if not hasattr(Page, "validated"):
            with open(table, "w") as file:
                file.write("a,b,c,kind\n" + "".join(f"{i % 7},{i % 11},{i % 3},{'xy'[i % 2]}\n" for i in range(200)))
            subprocess.run([program, "zoo", "tabular", "--features", "3", "--classes", "2", "-o", model], check=True, capture_output=True)
            subprocess.run([program, "train", model, "--data", table, "--target", "kind", "--batch", "16", "--validation", "0.2", "--epochs", "6", "--budget", "200MiB",
                            "--threads", "1", "--report", page, "--trace", trace, "--out", os.path.join(out, "validated.onnx"), "--quiet"], check=True, capture_output=True,
                           env=dict(os.environ, PLIMSOLL_COSTS="default"))
            Page.validated = json.loads(report(trace, "--json"))
        return page, Page.validated

    def test_a_run_begins_with_its_loss_beside_its_memory(self):
        page, told = self.recorded_run()
        curves = {s["name"]: s["curve"] for s in told["series"]}
        self.assertEqual(curves["loss"]["updates"], list(range(1, 61)))
        self.assertEqual(curves["validation loss"]["updates"], [10, 20, 30, 40, 50, 60])
        self.assertEqual(len(curves["validation accuracy"]["values"]), 6)
        process = [r for r in told["planned_and_measured"] if r["what"].startswith("process")][0]
        for width, height in ((1440, 1600), (390, 2600)):
            for dark in (False, True):
                self.browser.resize(width, height)
                self.browser.emulate(dark)
                b = self.show(page)
                top = b.value("document.getElementById('decisions').getBoundingClientRect().top")
                self.assertLess(top, b.value("document.getElementById('figures').getBoundingClientRect().top"))
                titles = b.run("return [...document.querySelectorAll('.curve h2')].map((h) => h.textContent)")
                self.assertEqual(titles, ["Loss", "Accuracy of validation, %", "Memory of the process", "Measures of validation"])
                keys = b.run("return [...document.querySelectorAll('.curve')].map((c) => [...c.querySelectorAll('.keys li')].map((l) => l.firstChild.nextSibling.textContent))")
                self.assertEqual(keys, [["training loss", "validation loss"], ["validation accuracy"], ["measured", "planned, at its highest", "budget"], ["precision", "recall", "F1"]])
                letters = b.run("return [...document.querySelectorAll('.curve svg')].map((s) => s.getBoundingClientRect().width / s.viewBox.baseVal.width)")
                self.assertTrue(all(0.9 < share < 1.2 for share in letters), f"letters are not drawn at their size: {letters}")
                units = b.run("return [...document.querySelectorAll('.curve')].map((c) => [...c.querySelectorAll('.unit')].map((u) => u.textContent)[0])")
                self.assertEqual(units, ["update"] * 4)
                labels = b.run("return [...document.querySelectorAll('.curve:nth-child(3) text')].map((t) => t.textContent)")
                self.assertTrue(any(label.endswith("MiB") for label in labels), labels)
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
                b.screenshot(os.path.join(out, f"run-{width}-{'dark' if dark else 'light'}.png"))
                self.assert_calm()
        figures = b.value("document.getElementById('figures').innerText")
        self.assertIn(f"planned {process['planned_bytes'] / 2 ** 20:.1f} MiB", figures)
        self.assertIn("Time of an update", figures)
        self.assertIn(f"{((200 << 20) - process['measured_bytes']) / 2 ** 20:.1f} MiB to spare", figures, "of what was measured, not of a part")
        self.assertRegex(b.value("document.getElementById('facts').innerText"), r"expected [0-9.]{1,5} ms an update")
        self.assertNotIn("Events", figures)

    def test_a_plan_begins_with_its_budgets_and_their_commands(self):
        page, plan = self.training_plan()
        for width, height in ((1440, 1640), (390, 2600)):
            for dark in (False, True):
                self.browser.resize(width, height)
                self.browser.emulate(dark)
                b = self.show(page)
                rows = b.run("return [...document.querySelectorAll('.budgets tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
                self.assertEqual(len(rows), len(b.value("plimsoll.summary.frontier")))
                self.assertEqual([r[3].endswith("(chosen)") for r in rows].count(True), 1)
                self.assertEqual(b.value("new Set([...document.querySelectorAll('.budgets tbody button')].map((n) => n.offsetHeight)).size"), 1, "a number and its unit are one line")
                self.assertIn("--budget 700MiB", b.value("document.querySelector('.budgets .command').innerText"))
                b.run("[...document.querySelectorAll('.budgets tbody tr')].at(-1).click()")
                b.frame()
                least = b.value("Math.min(...plimsoll.summary.frontier.map((p) => p.budget_bytes))")
                self.assertEqual(b.value("plimsoll.state.alternative"), least, "its line is in the chart")
                self.assertNotIn("--budget 700MiB", b.value("document.querySelector('.budgets .command').innerText"))
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
                self.assert_calm()
        if plan["recomputed"]:
            self.assertIn("recomputed stretch", b.value("document.getElementById('legend').innerText"))
        self.assertIn("Time of an update", b.value("document.getElementById('figures').innerText"))

    def test_a_changed_budget_moves_its_line(self):
        trace, page = os.path.join(out, "budgets.trace"), os.path.join(out, "budgets.html")
        t = samples.Trace(trace)
        t.named(8, "model.onnx")
        t.number(1, 64 << 20)
        t.named(7, "budget")
        for i, budget in enumerate((64, 48, 56)):
            for k in range(10):
                b = t.buffer(f"tensor {i} {k}", (k + 1,), "layer", "Conv", "activation", "forward", 1 << 20, (10 * i + k) << 20)
                t.event(16, b)
                t.now += 1000
            t.event(22, 0, values=(budget << 20,))
        t.close()
        report(trace, "-o", page)
        b = self.show(page)
        drawn = b.run("""const levels = [], calls = [], own = {measureText: () => ({width: 10}), lineTo: (x, y) => levels.push(y)};
            const g = new Proxy(own, {get: (o, k) => (calls.push(k), k in o ? o[k] : () => {}), set: () => true});
            return [plimsoll.chart.drawBudgets(g), new Set(levels).size, calls.slice(0, calls.indexOf('stroke'))]""")
        self.assertEqual(drawn[:2], [True, 3])
        self.assertLessEqual(set(drawn[2]), {"setLineDash", "beginPath", "moveTo", "lineTo"}, "words are drawn within the line")
        self.assertEqual(b.value("plimsoll.model.series.length"), 0, "it is no memory of the process")
        self.assert_calm()

    def test_long_names_are_elided_in_the_middle(self):
        trace, page = os.path.join(out, "long.trace"), os.path.join(out, "long.html")
        samples.write_hostile(trace)
        report(trace, "-o", page)
        b = self.show(page)
        shown = b.run("return [...document.querySelectorAll('.holders .n')].map((n) => n.textContent)")
        self.assertTrue(all(len(n) <= 26 for n in shown), shown)
        self.assertIn("a" * 13 + "…" + "a" * 12, shown)
        for width in 1280, 700, 390:
            b.resize(width, 900)
            b.frame()
            cut = b.run("return [...document.querySelectorAll('.grid tr[data-row] td')].filter((d) => d.offsetWidth && d.scrollWidth > d.clientWidth).map((d) => d.textContent)")
            self.assertEqual(cut, [], f"at {width} columns ends are cut off")

    def test_page_json_and_text_show_the_same_numbers(self):
        b = self.show(self.page)
        peak = self.json["peak"]["bytes"]
        self.assertEqual(b.value("Math.max(...plimsoll.model.totals)"), peak)
        self.assertEqual(b.value("plimsoll.model.totals[plimsoll.model.peakTick]"), peak)
        self.assertEqual(b.value("plimsoll.model.extent"), self.json["arena_bytes"])
        self.assertEqual(b.value("Array.from(plimsoll.model.kindsAt(plimsoll.model.peakTick, new Float64Array(8))).reduce((a, c) => a + c)"), peak)
        self.assertIn(f"{peak:,} bytes", b.value("document.getElementById('figures').innerText"))
        text = report(self.trace, "--text")
        self.assertIn(f"{peak:,} bytes", text)
        names = b.run("return [...document.querySelectorAll('.holders .n')].map((n) => n.textContent)")
        self.assertEqual(names, [h["name"] for h in self.json["peak"]["holders"]])
        for name in names:
            self.assertIn(name, text)

    def test_hover_tells_what_is_there(self):
        b = self.show(self.page)
        b.hover("#chart", 0.5, 0.6)
        tip = b.value("document.getElementById('tip').innerText")
        self.assertFalse(b.value("document.getElementById('tip').hidden"))
        self.assertRegex(tip, r"Activations\s+[\d.]+ [KMG]iB")
        self.assertRegex(tip, r"event [\d,]+")
        b.hover("#map", 0.5, 0.85)
        self.assertRegex(b.value("document.getElementById('tip').innerText"), r"activation|weight|gradient|optimizer|Free")
        b.hover("h1")
        self.assertTrue(b.value("document.getElementById('tip').hidden"))

    def test_wheel_buttons_and_keys_zoom_and_drag_pans(self):
        b = self.show(self.page)
        span = "plimsoll.axis.to - plimsoll.axis.from"
        whole = b.value(span)
        b.wheel("#chart", 0.5, -300)
        near = b.value(span)
        self.assertLess(near, whole * 0.8)
        start = b.value("plimsoll.axis.from")
        b.drag("#chart", 0.7, 0.4)
        self.assertGreater(b.value("plimsoll.axis.from"), start)
        self.assertAlmostEqual(b.value(span), near, places=6)
        b.click("#zoom-in")
        self.assertAlmostEqual(b.value(span), near / 2, delta=near / 100)
        b.run("document.getElementById('chart').focus()")
        b.keys("+")
        self.assertLess(b.value(span), near / 2)
        b.keys("0")
        self.assertEqual(b.value(span), whole)
        b.keys("p")
        self.assertTrue(b.value("plimsoll.axis.from <= plimsoll.model.peakTick && plimsoll.model.peakTick <= plimsoll.axis.to && !plimsoll.axis.whole"))

    def test_zooming_in_never_hides_the_peak_of_what_is_visible(self):
        b = self.show(self.page)
        for fragment in ("", "&x=100-900", "&x=150-400"):
            for axis in ("event", "time"):
                b.open(self.page, f"#axis={axis}{fragment}")
                seen, real = b.run("const {chart, model, axis} = plimsoll, from = axis.tickAt(axis.from), to = axis.unit === 'time' ? axis.tickAt(axis.to) + 1 : Math.ceil(axis.to);"
                                   "return [Math.max(...Array.from(chart.ticks, (t) => model.totals[t])), Math.max(...model.totals.subarray(from, Math.min(to, model.ticks)))]")
                self.assertEqual(seen, real, fragment + axis)

    def test_click_pins_and_every_view_follows(self):
        b = self.show(self.page, "#stack=tensor")
        b.click("#chart", 0.3, 0.5)
        pinned = b.value("plimsoll.state.pin")
        self.assertIsNotNone(pinned)
        name = b.value("plimsoll.model.tensorName(plimsoll.state.pin)")
        self.assertEqual(b.value("document.getElementById('detail-title').textContent"), name)
        self.assertIn(f"pin={pinned}", b.value("location.hash"))
        self.assertTrue(b.value("document.getElementById('said').textContent").startswith("Pinned"))
        b.run("document.getElementById('chart').focus()")
        b.keys("\ue00c")
        self.assertIsNone(b.value("plimsoll.state.pin"))
        b.click("#map", 0.35, 0.8)
        self.assertIsNotNone(b.value("plimsoll.state.pin"))
        b.click("#unpin")
        self.assertIsNone(b.value("plimsoll.state.pin"))
        b.click("tbody tr[data-row='0']")
        self.assertEqual(b.value("document.querySelector(\"tr[aria-selected='true'] td\").textContent"), b.value("document.getElementById('detail-title').textContent"))

    def test_search_and_sort_do_what_they_say(self):
        b = self.show(self.page)
        b.run("const s = document.getElementById('search'); s.value = 'layer3.2 workspace'; s.dispatchEvent(new Event('input'))")
        b.frame()
        names = b.run("return [...document.querySelectorAll('tbody tr[data-row] td:first-child')].map((c) => c.textContent)")
        self.assertEqual(len(names), 6)
        self.assertTrue(all("layer3.2" in n and "workspace" in n for n in names))
        self.assertIn("q=layer3.2", b.value("location.hash"))
        b.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")
        b.click("th button[data-sort='bytes']")
        sizes = b.value("[...plimsoll.model.size].length") and b.run("return [...document.querySelectorAll('tbody tr[data-row] td:nth-child(7)')].map((c) => c.title)")
        numbers = [int(re.sub(r"\D", "", s)) for s in sizes]
        self.assertEqual(numbers, sorted(numbers, reverse=True))
        self.assertEqual(b.value("document.querySelector(\"th[aria-sort='descending'] button\").dataset.sort"), "bytes")
        b.click("th button[data-sort='bytes']")
        numbers = [int(re.sub(r"\D", "", s)) for s in b.run("return [...document.querySelectorAll('tbody tr[data-row] td:nth-child(7)')].map((c) => c.title)")]
        self.assertEqual(numbers, sorted(numbers))
        b.click("th button[data-sort='name']")
        names = b.run("return [...document.querySelectorAll('tbody tr[data-row] td:first-child')].map((c) => c.textContent)")
        self.assertEqual(names[0], "avgpool.out")
        self.assertEqual(names, sorted(names, key=lambda n: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", n)]))

    def test_the_table_of_layers_adds_up_to_the_peak(self):
        b = self.show(self.page, "#rows=layer")
        self.assertIn(b.value("document.querySelectorAll('.figure dd')[0].firstChild.textContent"), b.value("document.querySelector('.sum').textContent"))

    def test_the_fragment_brings_back_the_view(self):
        b = self.show(self.page, "#view=frontier&stack=tensor&x=200-700&pin=12&sort=name&q=conv&rows=tensor&hide=weight")
        look = "[plimsoll.state.view, plimsoll.state.mode, plimsoll.state.pin, plimsoll.state.query, plimsoll.axis.from, plimsoll.axis.to, [...plimsoll.state.hidden]]"
        self.assertEqual(b.value(look), ["frontier", "tensor", 12, "conv", 200, 700, [0]])
        self.assertFalse(b.value("document.getElementById('frontier-panel').hidden"))
        b.wheel("#chart", 0.3, -200)
        link = b.value("location.hash")
        shown = b.value("[plimsoll.axis.tickAt(plimsoll.axis.from), Math.ceil(plimsoll.axis.to)]")
        b.open(self.page, link)
        self.assertEqual(b.value("[plimsoll.axis.from, plimsoll.axis.to]"), shown)
        b.run("location.hash = '#view=compare'")
        b.frame()
        self.assertFalse(b.value("document.getElementById('compare-panel').hidden"))
        self.assert_calm()

    def test_nonsense_in_the_fragment_is_ignored(self):
        b = self.show(self.page, "#view=nothing&x=9-abc&pin=99999999&sort=zzz&hide=foo&stack=%3Cscript%3E")
        self.assertEqual(b.value("[plimsoll.state.view, plimsoll.state.mode, plimsoll.state.pin, plimsoll.axis.whole]"), ["table", "kind", None, True])
        self.assert_calm()

    def test_the_frontier_shows_the_chosen_plan_and_alternatives_on_click(self):
        b = self.show(self.page, "#view=frontier")
        panel = "document.getElementById('frontier-panel').innerText"
        self.assertIn("The chosen plan", b.value(panel))
        self.assertIn("recompute 9 normalisations", b.value(panel))
        b.click(".dot:not(.chosen)")
        self.assertIn("An alternative", b.value(panel))
        self.assertIn("--budget", b.value(panel))
        link = b.value("location.hash")
        b.open(self.page, link)
        self.assertIn("An alternative", b.value(panel), "the link does not lead to it: " + link)
        self.assertEqual(b.value("plimsoll.state.alternative"), b.value("Math.min(...plimsoll.summary.frontier.map((p) => p.budget_bytes))"))
        b.click(".dot.chosen")
        self.assertEqual(b.value("[plimsoll.state.alternative, location.hash]"), [0, "#view=frontier"])

    def test_keyboard_alone_reaches_everything(self):
        b = self.show(self.page)
        b.run("document.getElementById('chart').focus()")
        b.keys("\ue014", "\ue014")
        self.assertRegex(b.value("document.getElementById('said').textContent"), r"[\d.]+ .iB at")
        b.keys("\ue007")
        self.assertIsNotNone(b.value("plimsoll.state.pin"))
        b.keys("t")
        self.assertEqual(b.value("plimsoll.state.mode"), "tensor")
        b.keys("2")
        self.assertEqual(b.value("plimsoll.state.view"), "frontier")
        b.keys("/")
        self.assertEqual(b.value("document.activeElement.id"), "search")
        b.keys("\ue00c", "?")
        self.assertTrue(b.value("document.getElementById('keys').open"))
        self.assert_calm()

    def test_the_table_keeps_the_keyboard(self):
        b = self.show(self.page)
        focused = "+document.activeElement.dataset.row"
        self.assertEqual(b.value("document.querySelectorAll('tbody [tabindex=\"0\"]').length"), 1)
        b.run("document.querySelector('tbody [tabindex=\"0\"]').focus()")
        b.keys("\ue015", "\ue015", "\ue015")
        self.assertEqual(b.value(focused), 3)
        b.keys("\ue007")
        self.assertEqual(b.value("document.querySelector(\"tr[aria-selected='true']\").dataset.row"), "3")
        b.keys("\ue015")
        self.assertEqual(b.value(focused), 4, "pinning lost the place in the table")
        for _ in range(3):
            b.keys("\ue00f")
        self.assertGreater(b.value(focused), 20)
        self.assertTrue(b.run("const r = document.activeElement.getBoundingClientRect(), g = document.querySelector('.grid').getBoundingClientRect(); return r.top >= g.top && r.bottom <= g.bottom + 1"))
        b.keys("\ue011")
        self.assertEqual(b.value(focused), 0)

    def test_holders_keep_the_keyboard(self):
        b = self.show(self.page)
        b.run("document.querySelector('.holders button').focus()")
        b.keys("\ue007")
        self.assertEqual(b.value("document.activeElement.id"), "unpin")
        b.keys("\ue007")
        self.assertTrue(b.value("document.activeElement.closest('.holders') !== null"))

    def test_the_link_holds_moment_and_addresses_too(self):
        b = self.show(self.page)
        b.click("#chart", 0.3, 0.5)
        marker = b.value("plimsoll.state.marker")
        b.run("plimsoll.map.showAddresses(1048576, 4194304)")
        b.frame()
        link = b.value("location.hash")
        b.open(self.page, link)
        self.assertEqual(b.value("[plimsoll.state.marker, plimsoll.map.low, plimsoll.map.high]"), [marker, 1048576, 5242880], link)
        b.open(self.page, "#y=9-3&at=99999999&point=77")
        self.assertEqual(b.value("[plimsoll.state.marker, plimsoll.map.low, plimsoll.state.point]"), [None, 0, -1])
        self.assert_calm()

    def test_everything_that_can_be_used_has_a_name(self):
        b = self.show(self.page)
        nameless = b.run("return [...document.querySelectorAll('button, input, [role=img], [role=tab], [role=button], [tabindex]')].filter((e) => !e.closest('tbody')"
                         " && !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML.slice(0, 80))")
        self.assertEqual(nameless, [])

    def test_names_with_markup_are_text(self):
        trace, page = os.path.join(out, "names.trace"), os.path.join(out, "names.html")
        samples.write_hostile(trace)
        report(trace, "-o", page)
        b = self.show(page)
        self.assertIsNone(b.value("window.broken"))
        self.assertEqual(b.value("document.getElementById('title').textContent"), "</script><script>window.broken=1</script>")
        self.assertIn("<img src=x onerror=window.broken=2>", b.value("document.querySelector('tbody').innerText"))
        b.click("tbody tr[data-row='0']")
        b.hover("#map", 0.5, 0.5)
        self.assertEqual(b.value("document.querySelectorAll('img').length"), 0)
        self.assertIsNone(b.value("window.broken"))
        self.assert_calm()

    def test_a_page_of_nothing_says_so(self):
        trace, page = os.path.join(out, "empty.trace"), os.path.join(out, "empty.html")
        samples.Trace(trace).close()
        report(trace, "-o", page)
        b = self.show(page)
        self.assertIn("Nothing was recorded", b.value("document.getElementById('detail').innerText"))
        self.assert_calm()

    def test_a_cut_recording_says_so(self):
        trace, page = os.path.join(out, "cut.trace"), os.path.join(out, "cut.html")
        with open(self.trace, "rb") as whole, open(trace, "wb") as cut:
            cut.write(whole.read()[:90001])
        report(trace, "-o", page)
        b = self.show(page)
        self.assertIn("cut off", b.value("document.getElementById('notices').innerText"))
        self.assertGreater(b.value("plimsoll.model.peak"), 0)
        self.assert_calm()

    def test_a_refusal_shows_its_moment_and_the_answer_of_explain(self):
        pickled, page, log = (os.path.join(out, n) for n in ("refused.pickle", "refused.html", "refused.log"))
        samples.write_refusal(pickled)
        report(pickled, "-o", page)
        told = json.loads(report(pickled, "--json"))
        moment = told["refusal"]
        self.assertEqual((moment["requested_bytes"], moment["live_bytes"], moment["free_bytes"]), (96 << 20, 150 << 20, 20 << 20))
        self.assertLess(told["held_at_end_bytes"], moment["live_bytes"], "much is freed afterwards")
        b = self.show(page)
        self.assertEqual(b.value("document.getElementById('detail-title').textContent"), "At the refusal")
        self.assertEqual(b.value("plimsoll.model.totals[plimsoll.model.moment]"), moment["live_bytes"])
        self.assertEqual(b.value("document.querySelector('#detail .big').textContent"), "150.0 MiB")
        figures = b.value("document.getElementById('figures').innerText")
        self.assertIn("50.0 MiB\nat the refusal", figures)
        self.assertNotIn("170.0 MiB", figures, "what was cached when all was over")
        holders = b.run("return [...document.querySelectorAll('.holders li')].map((n) => n.innerText.split('\\n').slice(0, 2).join(' '))")
        self.assertEqual(holders[0], "net.py:7 forward 120.0 MiB in 12", "what comes from one place is one holder")
        self.assertEqual([h["name"] for h in moment["holders"]], ["net.py:7 forward", "ReluBackward0"])
        # PyTorch's own words for the same refusal, read by explain
        with open(log, "w") as file:
            file.write('Traceback (most recent call last):\n  File "/home/me/train.py", line 30, in main\n  File "/home/me/net.py", line 9, in forward\n'
                       "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 of which 20.00 MiB is free. Of the allocated memory "
                       "150.00 MiB is allocated by PyTorch, and 50.00 MiB is reserved by PyTorch but unallocated.\n")
        said = json.loads(subprocess.run([program, "explain", log, "--json"], check=False, capture_output=True, text=True).stdout)
        answer = moment["explanation"]
        self.assertEqual((answer["cause"], answer["headline"]), (said["cause"], said["headline"]))
        self.assertEqual([f["title"] for f in answer["fixes"]], [f["title"] for f in said["fixes"]])
        shown = b.value("document.getElementById('answer').innerText")
        for text in [answer["headline"], *answer["evidence"], *(f["title"] for f in answer["fixes"]), *(f["setting"] for f in answer["fixes"])]:
            self.assertIn(text, shown)
        b.click(".holders li:nth-child(2) button")
        frames = b.run("return [...document.querySelectorAll('#detail .stack li')].map((n) => n.textContent)")
        b.screenshot(os.path.join(out, "refused.png"))
        self.assertGreater(len(frames), 2)
        b.run("plimsoll.state.marker = null")
        b.click("#unpin")
        b.click(".holders li:first-child button")
        frames = b.run("return [...document.querySelectorAll('#detail .stack li')].map((n) => n.textContent)")
        self.assertEqual([".py:" in f for f in frames], sorted([".py:" in f for f in frames], reverse=True), "Python comes first")
        self.assertIn("c10::cuda::CUDACachingAllocator::malloc()", frames[-1])
        self.assert_calm()

    def test_a_leaking_snapshot_shows_leak_segments_and_stacks(self):
        pickled, page = os.path.join(out, "leaking.pickle"), os.path.join(out, "leaking.html")
        samples.write_snapshot(pickled, 4, "leaking", True, False, False)
        report(pickled, "--budget", "200MiB", "-o", page)
        b = self.show(page, "#view=leaks")
        panel = b.value("document.getElementById('leaks-panel').innerText")
        self.assertIn("Leaking 768.0 KiB a step", panel)
        self.assertIn("metrics.py:17 remember", panel)
        self.assertRegex(panel, r"used up in step \d+")
        b.click("#leaks-panel tbody tr")
        self.assertIn("metrics.py:17", b.value("document.querySelector('.stack').innerText"))
        b.keys("2")
        b.hover(".segments canvas", 0.3, 0.05)
        self.assertRegex(b.value("document.getElementById('tip').innerText"), r"Free|In use")
        b.screenshot(os.path.join(out, "leaking.png"))
        b.click(".segments canvas", 0.3, 0.35)  # a segment that is in use
        pinned = b.value("plimsoll.state.pin")
        self.assertIsNotNone(pinned, "a block is pinned by a click")
        self.assertEqual(b.value("document.getElementById('detail-title').textContent"), b.value("plimsoll.model.tensorName(plimsoll.state.pin)"))
        self.assertTrue(b.value("document.querySelector('.stack').innerText"))
        b.keys("\ue00c")
        b.run("document.querySelector('.segments').focus()")
        b.keys("\ue015", "\ue014", "\ue007")
        self.assertRegex(b.value("document.getElementById('tip').innerText"), r"Free|In use")
        self.assertIsNotNone(b.value("plimsoll.state.pin"), "and by the keyboard")
        self.assert_calm()

    def test_a_million_events_are_small_and_smooth(self):
        trace, page = os.path.join(out, "million.trace"), os.path.join(out, "million.html")
        samples.write_million(trace)
        report(trace, "-o", page)
        self.assertLess(os.path.getsize(page), 40e6)
        b = self.show(page)
        self.assertEqual(b.value("plimsoll.summary.events"), 1000000)
        ready = b.value("plimsoll.readyAfter")
        # the address map is one picture, zoomed, while most buffers are smaller than a pixel, and exact where they are not
        look = "[plimsoll.map.aggregated, new Set(new Uint32Array(plimsoll.map.under.getContext('2d').getImageData(300, 60, 200, 100).data.buffer)).size > 20]"
        self.assertEqual(b.value(look), [True, True])
        b.open(page, "#x=400000-410000")
        self.assertEqual(b.value(look), [False, True])
        times = {}
        for mode in ("kind", "tensor"):
            b.open(page, f"#stack={mode}")
            times[mode] = b.call("POST", b.session + "/execute/async", {"args": [], "script":
                "const done = arguments[0], took = []; let n = 0;"
                "(function step() { const t = performance.now(); plimsoll.axis.show(n * 3000, n * 3000 + 900000 / (1 + n)); plimsoll.draw(); took.push(performance.now() - t);"
                " if (++n < 30) requestAnimationFrame(step); else done(took.sort((a, c) => a - c)[15]); })()"})
        print(f"\na million events: {os.path.getsize(page) / 1e6:.1f} MB, ready after {ready:.0f} ms, median frame {times['kind']:.1f} ms by kind, {times['tensor']:.1f} ms by tensor")
        b.screenshot(os.path.join(out, "million.png"))
        self.assert_calm()

    def test_screenshots(self):
        for width, height in ((1440, 1640), (390, 2600)):
            for dark in (False, True):
                self.browser.resize(width, height)
                self.browser.emulate(dark)
                b = self.show(self.page, "#x=0-1080" if width > 1000 else "")
                self.assertEqual(b.value("document.documentElement.dataset.theme"), "dark" if dark else "light")
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width, "the page is wider than the screen")
                b.screenshot(os.path.join(out, f"page-{width}-{'dark' if dark else 'light'}.png"))
                self.assert_calm()


if __name__ == "__main__":
    os.makedirs(out, exist_ok=True)
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
