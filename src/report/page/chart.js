// Memory over the step: a stack for each column of pixels, taken at the column's highest moment, so that a
// million events draw as fast as a thousand and no peak is lost.

const BANDS = 40; // tensors that get a band of their own; the rest is one band

class Chart extends Plot {
  constructor(element, axis, model, state) {
    super(element, axis, model.marksOf[MARK.phase].tick.length ? 20 : 0);
    this.model = model;
    this.state = state;
    this.kinds = new Float64Array(KINDS.length);
  }

  // The tick that each column shows. Columns between two events show the state in force.
  findColumns() {
    const {model, axis} = this, count = this.pixelWidth;
    const ticks = this.ticks = new Uint32Array(count);
    const time = axis.unit === 'time', span = axis.to - axis.from;
    let from = axis.tickAt(axis.from);
    for (let x = 0; x < count; x++) {
      const edge = axis.from + (x + 1) / count * span;
      // a column of time also shows the state that was in force when it began
      const to = time ? axis.tickAt(edge) + 1 : Math.min(model.ticks, Math.floor(edge + 1e-9));
      ticks[x] = to > from ? model.peakIn(from, to) : from;
      from = Math.min(time ? to - 1 : Math.max(to, from), model.ticks - 1);
    }
  }

  get top() {
    if (!this.model.count) return 1;
    const budget = this.budget();
    return Math.max(this.model.peak, budget && budget < this.model.peak * 2.2 ? budget : 0, this.highestSample()) * 1.07;
  }
  budget() { return this.model.budgets ? Math.max(...this.model.budgets.bytes) : summary.budget_bytes || summary.capacity_bytes || 0; }
  highestSample() {
    if (this.highest == null) {
      this.highest = 0;
      for (const s of this.model.series) for (const b of s.bytes) if (b > this.highest) this.highest = b;
      if (this.highest > this.model.peak * 6) this.highest = 0; // it would flatten the rest
    }
    return this.highest;
  }

  draw() {
    const g = this.context(this.under);
    this.taken = [];
    this.findColumns();
    this.pixels.fill(0);
    if (this.model.count) this.state.mode === 'tensor' ? this.paintTensors() : this.paintKinds();
    this.drawBytesAxis(g, 0, this.top);
    this.drawPixels(g);
    this.drawHorizontalAxis(g);
    this.drawPhases(g);
    this.drawSeries(g);
    this.drawBudget(g);
    this.drawAlternative(g);
    this.drawGaps(g);
    this.drawPeak(g);
    this.drawRefused(g);
    this.nameAllSeries(g);
    this.drawOver();
  }

  paintKinds() {
    const {model, ticks, pixelWidth: w, pixelHeight: h, pixels, kinds} = this, scale = h / this.top, hidden = this.state.hidden;
    let last = -1;
    for (let x = 0; x < w; x++) {
      if (ticks[x] !== last) model.kindsAt(last = ticks[x], kinds);
      let at = 0, y = h;
      for (let k = 0; k < kinds.length; k++) {
        if (hidden.has(k)) continue;
        at += kinds[k];
        const top = Math.round(h - at * scale), colour = palette.packed[k];
        for (; y > top; y--) pixels[(y - 1) * w + x] = colour;
      }
    }
  }

  // The tensors that hold the most in the visible range, by bytes times ticks, in the order of their births.
  findBands() {
    const {model, axis} = this, from = axis.tickAt(axis.from), to = axis.tickAt(axis.to) + 1, hidden = this.state.hidden;
    const key = `${from} ${to} ${[...hidden]}`;
    if (this.bandKey === key) return;
    this.bandKey = key;
    const weight = new Float64Array(model.tensor.name.length), end = model.births[Math.min(to, model.ticks)];
    for (let i = model.skip(0, from); i < end; i = model.skip(i + 1, from)) {
      if (model.died[i] <= from) continue;
      weight[model.owner[i]] += model.size[i] * (Math.min(model.died[i], to) - Math.max(model.born[i], from));
    }
    const order = [];
    let least = 0;
    for (let t = 0; t < weight.length; t++) {
      if (weight[t] <= least || hidden.has(model.tensor.kind[t])) continue;
      order.push(t);
      if (order.length >= 4 * BANDS) {
        order.sort((a, b) => weight[b] - weight[a]).length = BANDS;
        least = weight[order[BANDS - 1]];
      }
    }
    order.sort((a, b) => weight[b] - weight[a]);
    if (order.length > BANDS) order.length = BANDS;
    const pinned = this.state.pin;
    if (pinned != null && !order.includes(pinned) && weight[pinned] > 0) order.push(pinned);
    const first = new Map(), band = this.bandOf = new Int16Array(weight.length).fill(-1);
    for (const t of order) band[t] = 0;
    for (let i = model.skip(0, from); i < end; i = model.skip(i + 1, from)) if (model.died[i] > from && band[model.owner[i]] === 0 && !first.has(model.owner[i])) first.set(model.owner[i], model.born[i]);
    order.sort((a, b) => (first.get(a) ?? 0) - (first.get(b) ?? 0) || a - b);
    order.forEach((t, i) => { band[t] = i; });
    this.bands = order;
  }

  // Bytes of each band in each column: lives add at their first column and take away after their last.
  sumBands() {
    this.findBands();
    const {model, ticks, bands, bandOf} = this, w = ticks.length, stride = w + 1;
    const sums = this.sums = new Float64Array(bands.length * stride);
    const end = model.births[Math.min(ticks[w - 1] + 1, model.ticks)];
    for (let i = model.skip(0, ticks[0]); i < end; i = model.skip(i + 1, ticks[0])) {
      const band = bandOf[model.owner[i]];
      if (band < 0 || model.died[i] <= ticks[0]) continue;
      const from = model.born[i] <= ticks[0] ? 0 : upperBound(ticks, model.born[i] - 1), to = model.died[i] > ticks[w - 1] ? w : upperBound(ticks, model.died[i] - 1);
      if (to <= from) continue;
      sums[band * stride + from] += model.size[i];
      sums[band * stride + to] -= model.size[i];
    }
    for (let b = 0; b < bands.length; b++) for (let x = 1; x < w; x++) sums[b * stride + x] += sums[b * stride + x - 1];
  }

  paintTensors() {
    this.sumBands();
    const {model, ticks, bands, sums, pixelWidth: w, pixelHeight: h, pixels} = this, scale = h / this.top, stride = w + 1, hidden = this.state.hidden;
    const colours = bands.map((t) => packColour(tensorColour(model, t))), edges = bands.map((t) => packColour(mix(tensorColour(model, t), palette.cardColour, 0.45)));
    // what has no band of its own lies below the bands, by kind, paler
    const rest = palette.kinds.map((c) => packColour(mix(c, palette.cardColour, 0.62))), kindOf = bands.map((t) => model.tensor.kind[t]), kinds = this.kinds;
    for (let x = 0; x < w; x++) {
      model.kindsAt(ticks[x], kinds);
      for (let b = 0; b < bands.length; b++) kinds[kindOf[b]] -= sums[b * stride + x];
      let at = 0, y = h;
      for (let k = 0; k < kinds.length; k++) {
        if (hidden.has(k) || kinds[k] <= 0) continue;
        at += kinds[k];
        for (const top = Math.round(h - at * scale); y > top; y--) pixels[(y - 1) * w + x] = rest[k];
      }
      for (let b = 0; b < bands.length; b++) {
        const bytes = sums[b * stride + x];
        if (bytes <= 0) continue;
        at += bytes;
        const top = Math.round(h - at * scale), tall = y - top > 4;
        for (; y > top; y--) pixels[(y - 1) * w + x] = tall && y - 1 === top ? edges[b] : colours[b];
      }
    }
  }

  y(bytes) { return MARGIN.top + this.plotHeight * (1 - bytes / this.top); }

  // A budget that was changed while the run went on: its line moves where that happened. False: it stayed.
  drawBudgets(g) {
    const {budgets} = this.model;
    if (!budgets || budgets.bytes.length < 2) return false;
    g.strokeStyle = g.fillStyle = palette.danger;
    g.lineWidth = 1.5;
    g.setLineDash([6, 4]);
    g.beginPath();
    const tags = []; // drawn after the line: they are paths of their own
    for (let i = 0; i < budgets.bytes.length; i++) {
      const clamp = (x) => Math.min(Math.max(x, this.left), this.left + this.plotWidth);
      const from = clamp(i ? this.x(this.axis.position(budgets.tick[i])) : this.left), to = i + 1 < budgets.bytes.length ? clamp(this.x(this.axis.position(budgets.tick[i + 1]))) : this.left + this.plotWidth;
      const y = Math.round(this.y(Math.min(budgets.bytes[i], this.top))) + 0.5;
      i ? g.lineTo(from, y) : g.moveTo(from, y);
      g.lineTo(to, y);
      if (to - from > 60) tags.push([`budget ${formatBytes(budgets.bytes[i])}`, to - 8, y]);
    }
    g.stroke();
    g.setLineDash([]);
    g.lineWidth = 1;
    for (const [text, x, y] of tags) this.tag(g, text, palette.danger, [[x, y - 12, 1], [x, y + 12, 1]]);
    return true;
  }

  drawBudget(g) {
    if (this.drawBudgets(g)) return;
    const budget = this.budget();
    if (!budget || budget > this.top) return;
    const y = Math.round(this.y(budget)) + 0.5, right = this.left + this.plotWidth;
    g.strokeStyle = g.fillStyle = palette.danger;
    g.lineWidth = 1.5;
    g.setLineDash([6, 4]);
    g.beginPath();
    g.moveTo(this.left, y);
    g.lineTo(right, y);
    g.stroke();
    g.setLineDash([]);
    // the load line's own sign
    g.beginPath();
    g.arc(right - 16, y, 6, 0, 7);
    g.stroke();
    g.lineWidth = 1;
    g.textAlign = 'right';
    g.textBaseline = 'bottom';
    this.taken.push([right - 24, y - 8, right - 8, y + 8], [this.left, y - 2, right, y + 2]);
    this.tag(g, `${summary.budget_bytes ? 'budget' : 'capacity'} ${formatBytes(budget)}`, palette.danger, [[right - 28, y - 12, 1], [right - 28, y + 12, 1]]);
  }

  // The budget of the plan that is chosen in the frontier, where it is another one.
  drawAlternative(g) {
    const {alternative} = this.state;
    if (!alternative || alternative > this.top) return;
    const y = Math.round(this.y(alternative)) + 0.5;
    g.strokeStyle = g.fillStyle = palette.accent;
    g.lineWidth = 1.5;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(this.left, y);
    g.lineTo(this.left + this.plotWidth, y);
    g.stroke();
    g.setLineDash([]);
    g.lineWidth = 1;
    g.textAlign = 'left';
    g.textBaseline = 'bottom';
    this.tag(g, `alternative ${formatBytes(alternative)}`, palette.accent, [[this.left + 8, y - 12, 0], [this.left + 8, y + 12, 0]]);
  }

  // A label on a ground of its own at the first of some places [x, y, share of its width left of x] that is free and
  // inside; where none is, at the first one, or nowhere.
  tag(g, text, colour, places, always = true) {
    const wide = g.measureText(text).width + 10, tall = 18;
    const boxes = places.map(([x, y, share]) => [x - wide * share, y - tall / 2, x + wide * (1 - share), y + tall / 2]);
    const inside = (b) => b[0] >= this.left && b[1] >= 0 && b[2] <= this.left + this.plotWidth && b[3] <= MARGIN.top + this.plotHeight;
    const free = (b) => this.taken.every((t) => b[2] <= t[0] || b[0] >= t[2] || b[3] <= t[1] || b[1] >= t[3]);
    const box = boxes.find((b) => inside(b) && free(b)) || (always ? boxes.find(inside) || boxes[0] : null);
    if (!box) return;
    this.taken.push(box);
    g.globalAlpha = 0.86;
    g.fillStyle = palette.card;
    g.beginPath();
    g.roundRect(box[0], box[1], wide, tall, 5);
    g.fill();
    g.globalAlpha = 1;
    g.fillStyle = colour;
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.fillText(text, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2 + 0.5);
  }

  label(g, text, x, y) {
    g.save();
    g.lineWidth = 3;
    g.lineJoin = 'round';
    g.strokeStyle = palette.card;
    g.strokeText(text, x, y);
    g.restore();
    g.fillText(text, x, y);
  }

  drawPeak(g) {
    if (!this.model.count) {
      g.fillStyle = palette.soft;
      g.textAlign = 'center';
      g.fillText('Nothing was recorded.', this.left + this.plotWidth / 2, MARGIN.top + this.plotHeight / 2);
      return;
    }
    const x = this.x(this.axis.position(this.model.peakTick)), y = this.y(this.model.peak);
    if (x < this.left || x > this.left + this.plotWidth) return;
    g.fillStyle = palette.ink;
    g.strokeStyle = palette.card;
    g.lineWidth = 2;
    g.beginPath();
    g.arc(x, y, 4.5, 0, 7);
    g.fill();
    g.stroke();
    g.lineWidth = 1;
    this.taken.push([x - 6, y - 6, x + 6, y + 6]);
    this.tag(g, `peak ${formatBytes(this.model.peak)}`, palette.ink, [[x + 9, y, 0], [x - 9, y, 1], [x, y + 18, 0.5], [x + 9, y + 18, 0], [x - 9, y + 18, 1], [x, y + 38, 0.5]]);
  }

  // Phases as a strip under the picture, steps as lines.
  drawPhases(g) {
    const marks = this.model.marksOf[MARK.phase], base = MARGIN.top + this.plotHeight, steps = this.model.marksOf[MARK.step];
    const tone = {forward: 0.07, backward: 0.16, update: 0.11, data: 0.04, load: 0.04, recompute: 0.34}, right = this.left + this.plotWidth;
    const visible = (m) => {
      const low = Math.max(0, upperBound(m.tick, this.axis.tickAt(this.axis.from)) - 1);
      return [low, Math.min(m.tick.length, upperBound(m.tick, this.axis.tickAt(this.axis.to)))];
    };
    let [from, to] = visible(marks);
    if (to - from > 4000) to = from;
    const names = [];
    for (let i = from; i < to; i++) {
      const word = PHASES[this.model.mark.value[marks.index[i]]] || '';
      const a = Math.max(this.left, this.x(this.axis.position(marks.tick[i])));
      const b = Math.min(right, i + 1 < marks.tick.length ? this.x(this.axis.position(marks.tick[i + 1])) : right);
      if (b <= a || !word) continue;
      g.globalAlpha = tone[word] ?? 0.1;
      g.fillStyle = palette.ink;
      g.fillRect(a + 0.5, base + 3, Math.max(0.5, b - a - 1), 16);
      const last = names[names.length - 1], before = word === 'recompute' ? null : names.findLast((n) => n.word !== 'recompute');
      if (before && before.word === word && before.step === this.model.markAt(MARK.step, marks.tick[i])) before.to = b; // it went on after steps that were done again
      else if (last && last.word === word && last.to >= a - 1) last.to = b;
      else names.push({word, from: a, to: b, step: this.model.markAt(MARK.step, marks.tick[i])});
    }
    g.globalAlpha = 1;
    g.fillStyle = palette.soft;
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    let used = -1;
    for (const {word, from: a, to: b} of names) {
      const half = g.measureText(word).width / 2 + 5, middle = (a + b) / 2;
      if (2 * half >= b - a || middle - half < used) continue;
      this.label(g, word, middle, base + 11.5);
      used = middle + half;
    }
    [from, to] = visible(steps);
    g.strokeStyle = palette.soft;
    for (let i = from; i < to && to - from < 200; i++) {
      const x = Math.round(this.x(this.axis.position(steps.tick[i]))) + 0.5;
      if (x < this.left + 2 || x > right) continue;
      g.globalAlpha = 0.5;
      g.setLineDash([2, 3]);
      g.beginPath();
      g.moveTo(x, MARGIN.top);
      g.lineTo(x, base);
      g.stroke();
      g.setLineDash([]);
      g.globalAlpha = 1;
    }
  }

  // What was not recorded is hatched: between two recorded steps nothing is known.
  drawGaps(g) {
    const base = MARGIN.top + this.plotHeight, right = this.left + this.plotWidth;
    this.hatched = 0;
    for (const [before, after] of this.model.gaps) {
      const from = Math.max(this.left, this.x(this.axis.position(before))), to = Math.min(right, this.x(this.axis.position(after)));
      if (to - from < 1) continue;
      this.hatched++;
      g.save();
      g.beginPath();
      g.rect(from, MARGIN.top, to - from, this.plotHeight);
      g.clip();
      g.globalAlpha = 0.8;
      g.fillStyle = palette.card;
      g.fillRect(from, MARGIN.top, to - from, this.plotHeight);
      g.globalAlpha = 0.5;
      g.strokeStyle = palette.soft;
      g.beginPath();
      for (let x = from - this.plotHeight; x < to; x += 8) {
        g.moveTo(x, base);
        g.lineTo(x + this.plotHeight, MARGIN.top);
      }
      g.stroke();
      g.restore();
      if (to - from > 90) this.tag(g, 'not recorded', palette.soft, [[(from + to) / 2, base - 14, 0.5]], false);
    }
  }

  // Refused allocations: a line each, and a word where there is room for it.
  drawRefused(g) {
    const base = MARGIN.top + this.plotHeight, right = this.left + this.plotWidth;
    for (const i of this.model.marksOf[MARK.oom].index) {
      const x = this.x(this.axis.position(this.model.mark.tick[i]));
      if (x < this.left || x > right) continue;
      g.strokeStyle = palette.danger;
      g.beginPath();
      g.moveTo(x, MARGIN.top);
      g.lineTo(x, base);
      g.stroke();
      this.tag(g, 'out of memory', palette.danger, [[x - 5, MARGIN.top + 11, 1], [x + 5, MARGIN.top + 11, 0]], false);
    }
  }

  // Lines beside the stack: the highest and lowest sample of each column.
  drawSeries(g) {
    for (const series of this.model.series) {
      const from = Math.max(0, upperBound(series.tick, this.axis.tickAt(this.axis.from)) - 1), to = Math.min(series.tick.length, upperBound(series.tick, this.axis.tickAt(this.axis.to)) + 1);
      g.strokeStyle = palette.ink;
      g.lineWidth = 1.25;
      g.setLineDash(series.name === 'reserved' ? [5, 3] : []);
      g.save();
      g.beginPath();
      g.rect(this.left, MARGIN.top, this.plotWidth, this.plotHeight);
      g.clip();
      g.beginPath();
      let lastX = -1, high = 0;
      for (let i = from; i < to; i++) {
        const x = Math.round(this.x(this.axis.position(series.tick[i])));
        high = x === lastX ? Math.max(high, series.bytes[i]) : series.bytes[i];
        if (i === from) g.moveTo(x, this.y(high));
        else if (series.name === 'reserved') g.lineTo(x, this.y(series.bytes[i - 1]));
        g.lineTo(x, this.y(high));
        lastX = x;
      }
      if (to === series.tick.length && series.name === 'reserved' && to) g.lineTo(this.left + this.plotWidth, this.y(series.bytes[to - 1]));
      g.stroke();
      g.restore();
      g.setLineDash([]);
      g.lineWidth = 1;
    }
  }

  // Beside its line at the right, where it ends, or further to the left where there is room.
  nameAllSeries(g) {
    for (const series of this.model.series) {
      const last = upperBound(series.tick, this.axis.tickAt(this.axis.to)) - 1, y = last < 0 ? -1 : this.y(series.bytes[last]);
      if (y < MARGIN.top || y > MARGIN.top + this.plotHeight) continue;
      const right = this.left + this.plotWidth - 6;
      this.tag(g, series.name, palette.ink, [[right, y - 12, 1], [right, y + 12, 1], [right - 150, y - 12, 1], [right - 150, y + 12, 1], [right, y + 32, 1]]);
    }
  }

  drawOver() {
    const g = this.context(this.over), {state, model} = this;
    const base = MARGIN.top + this.plotHeight;
    if (state.pin != null) this.drawLives(g, state.pin, base);
    if (state.cursor == null || !model.count) return;
    const x = Math.round(this.x(this.axis.position(state.cursor))) + 0.5;
    if (x < this.left || x > this.left + this.plotWidth) return;
    g.strokeStyle = palette.ink;
    g.globalAlpha = 0.6;
    g.beginPath();
    g.moveTo(x, MARGIN.top);
    g.lineTo(x, base);
    g.stroke();
    g.globalAlpha = 1;
  }

  // Where the pinned tensor lives: bars under the axis, and in the stack by tensor its band outlined.
  drawLives(g, tensor, base) {
    const {model, axis} = this, right = this.left + this.plotWidth;
    g.fillStyle = palette.ink;
    let lastEnd = -1;
    for (const i of this.state.livesOf(tensor)) {
      const a = Math.max(this.left, this.x(axis.position(model.born[i]))), b = Math.min(right, model.died[i] === NEVER ? right : this.x(axis.position(model.died[i])));
      if (b < this.left || a > right || b <= lastEnd) continue;
      g.fillRect(a, base + 1, Math.max(2, b - a), 4);
      lastEnd = b;
    }
    if (this.state.mode !== 'tensor' || !this.bands) return;
    const band = this.bandOf[tensor], stride = this.ticks.length + 1;
    if (band < 0) return;
    g.strokeStyle = palette.ink;
    g.lineWidth = 1.5;
    for (let x = 0, open = false; x <= this.ticks.length; x++) {
      const bytes = x < this.ticks.length ? this.sums[band * stride + x] : 0;
      if (bytes > 0 && !open) {
        open = true;
        g.beginPath();
      }
      if (bytes > 0) {
        const low = this.bandBase(band, x), px = this.left + x / this.ratio;
        g.rect(px, this.y(low + bytes), 1 / this.ratio, Math.max(1, this.y(low) - this.y(low + bytes)));
      } else if (open) {
        open = false;
        g.globalAlpha = 0.5;
        g.fillStyle = palette.ink;
        g.fill();
        g.globalAlpha = 1;
      }
    }
    g.lineWidth = 1;
  }

  bandBase(band, x) {
    const stride = this.ticks.length + 1;
    let own = 0, below = 0;
    for (let b = 0; b < this.bands.length; b++) {
      if (b < band) below += this.sums[b * stride + x];
      own += this.sums[b * stride + x];
    }
    let visible = this.model.totals[this.ticks[x]];
    if (this.state.hidden.size) {
      this.model.kindsAt(this.ticks[x], this.kinds);
      for (const k of this.state.hidden) visible -= this.kinds[k];
    }
    return Math.max(0, visible - own) + below;
  }

  // What is under the pointer: {tick, kind} or {tick, tensor}.
  find(x, y) {
    if (!this.model.count || !this.ticks) return null;
    const column = Math.min(this.ticks.length - 1, Math.max(0, Math.floor((x - this.left) * this.ratio)));
    const tick = this.ticks[column], bytes = (1 - (y - MARGIN.top) / this.plotHeight) * this.top, found = {tick, column, total: this.model.totals[tick]};
    if (this.state.mode === 'tensor') {
      const stride = this.ticks.length + 1;
      let at = this.bandBase(0, column);
      if (bytes >= 0 && bytes < at) found.rest = at;
      for (let b = 0; b < this.bands.length; b++) {
        const own = this.sums[b * stride + column];
        if (bytes >= at && bytes < at + own) found.tensor = this.bands[b];
        at += own;
      }
    } else {
      this.model.kindsAt(tick, this.kinds);
      let at = 0;
      for (let k = 0; k < this.kinds.length; k++) {
        if (this.state.hidden.has(k)) continue;
        if (bytes >= at && bytes < at + this.kinds[k]) found.kind = k;
        at += this.kinds[k];
      }
    }
    return found;
  }
}
