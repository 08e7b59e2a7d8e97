// Questions about the data, answered fast enough to ask them for every frame.

const NEVER = 0xffffffff;
const KINDS = meta.layout.kinds, KIND_TITLES = meta.layout.kindTitles, PHASES = meta.layout.phases, DTYPES = meta.layout.dtypes;
const MARK = {step: 0, phase: 1, operator: 2, oom: 3};
const CHECKPOINT = 64; // ticks between stored sums of kinds
const RUN = 9; // 2^RUN lives share one entry of the index of last deaths
const BLOCK = 64; // ticks, and blocks of ticks, that share one entry of the index of peaks

function upperBound(array, value, from = 0, to = array.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (array[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

class Model {
  constructor(d) {
    Object.assign(this, d);
    this.budgets = d.series.find((s) => s.name === 'budget' && s.bytes.length);
    this.series = d.series.filter((s) => s.name !== 'budget');
    this.ticks = meta.layout.ticks;
    this.count = d.born.length;
    this.indexEvents();
    this.sumTotals();
    this.indexPeaks();
    this.peak = summary.peak.bytes;
    this.peakTick = summary.peak.tick;
    this.extent = 0;
    for (let i = 0; i < this.count; i++) if (this.offset[i] >= 0) this.extent = Math.max(this.extent, this.offset[i] + this.size[i]);
    for (let i = 0; i < this.segment.offset.length; i++) if (this.segment.offset[i] > 0) this.extent = Math.max(this.extent, this.segment.offset[i] - 1 + this.segment.bytes[i]);
    this.kindsUsed = KINDS.map((_, k) => k).filter((k) => this.tensor.kind.includes(k));
    this.marksOf = Object.keys(MARK).map((_, type) => {
      const at = [];
      for (let i = 0; i < this.mark.type.length; i++) if (this.mark.type[i] === type) at.push(i);
      return {index: Uint32Array.from(at), tick: Uint32Array.from(at, (i) => this.mark.tick[i])};
    });
  }

  // Bytes at the peak that have an address: the process itself has none.
  placedAtPeak() {
    let bytes = 0;
    for (let i = 0; i < this.count; i++) if (this.offset[i] >= 0 && this.born[i] <= this.peakTick && this.peakTick < this.died[i]) bytes += this.size[i];
    return bytes;
  }

  // Lives are sorted by birth, so the births of a tick are a range; deaths get an order of their own.
  indexEvents() {
    const births = this.births = new Uint32Array(this.ticks + 1), deaths = this.deaths = new Uint32Array(this.ticks + 2);
    for (let i = 0; i < this.count; i++) {
      births[this.born[i] + 1]++;
      if (this.died[i] < this.ticks) deaths[this.died[i] + 1]++;
    }
    for (let t = 0; t < this.ticks; t++) {
      births[t + 1] += births[t];
      deaths[t + 1] += deaths[t];
    }
    // the last death of each run of lives: what is long gone is passed over in one step
    this.lastDeath = new Uint32Array((this.count >> RUN) + 1);
    for (let i = 0; i < this.count; i++) if (this.died[i] > this.lastDeath[i >> RUN]) this.lastDeath[i >> RUN] = this.died[i];
    const next = deaths.slice();
    this.dying = new Uint32Array(deaths[this.ticks]);
    for (let i = 0; i < this.count; i++) if (this.died[i] < this.ticks) this.dying[next[this.died[i]]++] = i;
  }

  sumTotals() {
    const kinds = KINDS.length, now = new Float64Array(kinds);
    this.totals = new Float64Array(this.ticks);
    this.checkpoints = new Float64Array((Math.floor(this.ticks / CHECKPOINT) + 1) * kinds);
    let total = 0;
    for (let t = 0; t < this.ticks; t++) {
      if (t % CHECKPOINT === 0) this.checkpoints.set(now, t / CHECKPOINT * kinds);
      for (let i = this.deaths[t]; i < this.deaths[t + 1]; i++) {
        const life = this.dying[i];
        total -= this.size[life];
        now[this.tensor.kind[this.owner[life]]] -= this.size[life];
      }
      for (let i = this.births[t]; i < this.births[t + 1]; i++) {
        total += this.size[i];
        now[this.tensor.kind[this.owner[i]]] += this.size[i];
      }
      this.totals[t] = total;
    }
  }

  indexPeaks() {
    const highest = (count, value) => {
      const out = new Uint32Array(Math.ceil(count / BLOCK));
      for (let b = 0; b < out.length; b++) {
        let best = value(b * BLOCK);
        for (let i = b * BLOCK + 1; i < Math.min(count, (b + 1) * BLOCK); i++) if (this.totals[value(i)] > this.totals[best]) best = value(i);
        out[b] = best;
      }
      return out;
    };
    this.peaks1 = highest(this.ticks, (t) => t);
    this.peaks2 = highest(this.peaks1.length, (b) => this.peaks1[b]);
  }

  // The tick of the highest total in [from, to).
  peakIn(from, to) {
    let best = from;
    const totals = this.totals;
    let t = from + 1;
    while (t < to) {
      let candidate, step;
      if (t % (BLOCK * BLOCK) === 0 && t + BLOCK * BLOCK <= to) {
        candidate = this.peaks2[t / (BLOCK * BLOCK)];
        step = BLOCK * BLOCK;
      } else if (t % BLOCK === 0 && t + BLOCK <= to) {
        candidate = this.peaks1[t / BLOCK];
        step = BLOCK;
      } else {
        candidate = t;
        step = 1;
      }
      if (totals[candidate] > totals[best]) best = candidate;
      t += step;
    }
    return best;
  }

  // Bytes of each kind at a tick, into `out`.
  kindsAt(tick, out) {
    const kinds = KINDS.length, from = Math.floor(tick / CHECKPOINT);
    for (let k = 0; k < kinds; k++) out[k] = this.checkpoints[from * kinds + k];
    for (let t = from * CHECKPOINT; t <= tick; t++) {
      for (let i = this.deaths[t]; i < this.deaths[t + 1]; i++) out[this.tensor.kind[this.owner[this.dying[i]]]] -= this.size[this.dying[i]];
      for (let i = this.births[t]; i < this.births[t + 1]; i++) out[this.tensor.kind[this.owner[i]]] += this.size[i];
    }
    return out;
  }

  // The first life from i on that may still be there after a tick.
  skip(i, tick) {
    while ((i & (1 << RUN) - 1) === 0 && i < this.count && this.lastDeath[i >> RUN] <= tick) i += 1 << RUN;
    return i;
  }

  // Calls `see` with each life at a tick.
  eachAlive(tick, see) {
    const end = this.births[Math.min(tick + 1, this.ticks)];
    for (let i = this.skip(0, tick); i < end; i = this.skip(i + 1, tick)) if (this.died[i] > tick) see(i);
  }

  largestAt(tick, most, filter = () => true) {
    const best = [];
    this.eachAlive(tick, (i) => {
      if (best.length === most && this.size[i] <= this.size[best[most - 1]] || !filter(i)) return;
      let at = best.length;
      while (at > 0 && this.size[best[at - 1]] < this.size[i]) at--;
      best.splice(at, 0, i);
      if (best.length > most) best.pop();
    });
    return best;
  }

  // The same, where all from one place of a program are one: {life, count, bytes}. Only a snapshot names places.
  holdersAt(tick, most) {
    if (summary.source !== 'torch-snapshot') return this.largestAt(tick, most).map((life) => ({life, count: 1, bytes: this.size[life]}));
    const groups = new Map();
    this.eachAlive(tick, (i) => {
      const name = this.tensor.name[this.owner[i]], group = groups.get(name);
      if (!group) groups.set(name, {life: i, count: 1, bytes: this.size[i]});
      else {
        if (this.size[i] > this.size[group.life]) group.life = i;
        group.count++;
        group.bytes += this.size[i];
      }
    });
    return [...groups.values()].sort((a, b) => b.bytes - a.bytes || a.life - b.life).slice(0, most);
  }

  lifeAt(tick, address) {
    let found = -1;
    this.eachAlive(tick, (i) => {
      if (this.offset[i] >= 0 && this.offset[i] <= address && address < this.offset[i] + this.size[i]) found = i;
    });
    return found;
  }

  // The index of the last mark of a type at or before a tick; -1 when there is none.
  markAt(type, tick) {
    const marks = this.marksOf[type], at = upperBound(marks.tick, tick);
    return at ? marks.index[at - 1] : -1;
  }

  place(tick) {
    const words = [], step = this.markAt(MARK.step, tick), phase = this.markAt(MARK.phase, tick), operation = this.markAt(MARK.operator, tick);
    const since = step >= 0 ? this.mark.tick[step] : 0;
    if (step >= 0) words.push(`step ${this.mark.value[step]}`);
    if (phase >= 0 && this.mark.tick[phase] >= since && PHASES[this.mark.value[phase]]) words.push(PHASES[this.mark.value[phase]]);
    if (operation >= 0 && this.mark.tick[operation] >= since) words.push(this.texts[this.mark.text[operation]]);
    return words.join(', ');
  }

  frames(stack) {
    const frames = [];
    for (; stack; stack = this.stack.parent[stack]) frames.push(this.texts[this.stack.frame[stack]]);
    const python = (f) => f.includes('.py:'); // a user's own lines come first
    return [...frames.filter(python), ...frames.filter((f) => !python(f))];
  }

  // The moment that is shown first: the last refusal, or the peak.
  get moment() { return summary.refusal ? summary.refusal.tick : this.peakTick; }

  // Stretches between recorded steps: [last tick before, first tick after].
  get gaps() {
    if (this.stretches) return this.stretches;
    this.stretches = [];
    const {index, tick} = this.marksOf[MARK.step];
    for (let i = 1; i < index.length; i++) if (this.mark.value[index[i]] > this.mark.value[index[i - 1]] + 1 && tick[i] > 0) this.stretches.push([tick[i] - 1, tick[i]]);
    return this.stretches;
  }

  tensorName(tensor) { return this.texts[this.tensor.name[tensor]] || 'unnamed'; }
}
