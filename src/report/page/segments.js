// An allocator's segments and their blocks, as the snapshot shows them at its end.

const SEGMENT_ROW = 26;

class Segments {
  // `tip` shows a box beside the pointer, `say` tells it to those who do not see it.
  constructor(element, model, state, {tip, say, pin}) {
    Object.assign(this, {model, state, tip, say, pin, row: -1, chosen: -1});
    const s = model.segment;
    this.firstBlock = new Uint32Array(s.bytes.length + 1);
    for (let i = 0; i < s.bytes.length; i++) this.firstBlock[i + 1] = this.firstBlock[i] + s.blocks[i];
    this.unused = Float64Array.from(s.bytes, (_, i) => {
      let sum = 0;
      for (let b = this.firstBlock[i]; b < this.firstBlock[i + 1]; b++) if (model.block.state[b] === 0) sum += model.block.bytes[b];
      return sum;
    });
    this.most = s.bytes.reduce((most, bytes) => Math.max(most, bytes), 1); // there may be more than a call takes arguments
    this.order = [...s.bytes.keys()];
    this.build(element);
    this.sortBy('bytes');
  }

  build(element) {
    const a = summary.allocator, parts = [['In use', a.requested_bytes, 'var(--weight)'], ['Rounding', a.allocated_bytes - a.requested_bytes, 'var(--data)'],
      ['Pending free', a.pending_bytes, 'var(--workspace)'], ['Cached, unused', a.unused_bytes, 'var(--line)']].filter((p) => p[1] > 0);
    const meter = make('div', {class: 'meter', role: 'img', 'aria-label': 'What the reserved memory is used for'}, ...parts.map(([, bytes, colour]) => make('span', {style: `width:${100 * bytes / Math.max(1, a.reserved_bytes)}%;background:${colour}`})));
    const key = make('div', {class: 'meterkey'}, make('span', {}, 'Reserved ', make('b', {text: formatBytes(a.reserved_bytes)})), ...parts.map(([title, bytes, colour]) =>
      make('span', {title: exactBytes(bytes)}, make('span', {class: 'swatch', style: `background:${colour}`}), `${title} `, make('b', {text: formatBytes(bytes)}))),
      make('span', {}, 'Largest free run ', make('b', {text: formatBytes(a.largest_free_bytes)})), make('span', {class: a.fragmented ? 'bad' : ''}, 'Fragmentation ', make('b', {text: percent(a.fragmentation)})));
    this.sorts = make('div', {class: 'switch', role: 'group', 'aria-label': 'Order of segments'}, ...[['bytes', 'largest'], ['unused', 'most unused'], ['address', 'address']].map(([k, t]) => make('button', {type: 'button', 'data-by': k, text: t, onclick: () => this.sortBy(k)})));
    this.canvas = make('canvas', {role: 'img', 'aria-label': `${plural(a.segments, 'segment')} with ${plural(a.blocks, 'block')}`});
    this.space = make('div');
    this.box = make('div', {class: 'segments', tabindex: 0, role: 'group', 'aria-label': 'Segments: arrow keys go from block to block, Enter pins', onscroll: () => this.draw()}, this.canvas, this.space);
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('pointerleave', () => this.tip(null));
    this.box.addEventListener('blur', () => this.tip(null));
    this.box.addEventListener('click', (event) => {
      const found = this.blockAt(event);
      if (found) this.choose(found.row, found.block);
    });
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.box.style.height = `${Math.min(420, this.order.length * SEGMENT_ROW + 16)}px`;
    element.append(meter, key, make('div', {class: 'tablebar'}, this.sorts), this.box);
  }

  sortBy(by) {
    const s = this.model.segment, value = {bytes: (i) => -s.bytes[i], unused: (i) => -this.unused[i], address: (i) => s.address[i]}[by];
    this.order.sort((a, b) => value(a) - value(b));
    this.row = this.chosen = -1;
    for (const button of this.sorts.children) button.setAttribute('aria-pressed', String(button.dataset.by === by));
    this.draw();
  }

  draw() {
    const width = this.box.clientWidth, height = this.box.clientHeight, ratio = Math.min(2, window.devicePixelRatio || 1);
    if (!width) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.space.style.height = `${Math.max(0, this.order.length * SEGMENT_ROW + 12 - height)}px`;
    const g = this.canvas.getContext('2d');
    g.scale(ratio, ratio);
    g.font = '12px system-ui, sans-serif';
    this.left = width < 560 ? 78 : 232;
    this.pinned = new Set();
    if (this.state.pin != null) for (const i of this.state.livesOf(this.state.pin)) if (this.model.died[i] >= this.model.ticks) this.pinned.add(this.model.offset[i]);
    const first = Math.floor(this.box.scrollTop / SEGMENT_ROW);
    for (let r = first; r < Math.min(this.order.length, first + height / SEGMENT_ROW + 2); r++) this.drawRow(g, this.order[r], 8 + r * SEGMENT_ROW - this.box.scrollTop, width);
  }

  drawRow(g, i, y, width) {
    const {model} = this, s = model.segment, scale = (width - this.left - 14) / this.most;
    g.fillStyle = palette.soft;
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    g.fillText(width < 560 ? formatBytes(s.bytes[i]) : `${model.texts[s.pool[i]]} 0x${s.address[i].toString(16)}  ${formatBytes(s.bytes[i])}`, this.left - 10, y + SEGMENT_ROW / 2 - 4);
    g.fillStyle = palette.line;
    g.fillRect(this.left, y, Math.max(1, s.bytes[i] * scale), SEGMENT_ROW - 8);
    let at = 0;
    for (let b = this.firstBlock[i]; b < this.firstBlock[i + 1]; b++) {
      const state = model.block.state[b], wide = model.block.bytes[b] * scale;
      if (state) {
        g.fillStyle = state === 2 ? css(palette.kinds[KINDS.indexOf('workspace')]) : css(mix(palette.rotation[(model.block.stack[b] || model.block.name[b]) % palette.rotation.length], palette.cardColour, 0.08));
        g.fillRect(this.left + at * scale, y, Math.max(0.6, wide - (wide > 3 ? 1 : 0)), SEGMENT_ROW - 8);
      }
      if (b === this.chosen || state && s.offset[i] && this.pinned.has(s.offset[i] - 1 + at)) {
        g.strokeStyle = palette.ink;
        g.lineWidth = 2;
        g.strokeRect(this.left + at * scale, y - 1, Math.max(2, wide - 1), SEGMENT_ROW - 6);
      }
      at += model.block.bytes[b];
    }
  }

  // The block under the pointer: {row, block}; null where there is none.
  blockAt(event) {
    const box = this.box.getBoundingClientRect(), row = Math.floor((event.clientY - box.top + this.box.scrollTop - 4) / SEGMENT_ROW), i = this.order[row];
    const scale = (this.box.clientWidth - this.left - 14) / this.most, address = (event.clientX - box.left - this.left) / scale;
    if (i == null || address < 0 || address > this.model.segment.bytes[i]) return null;
    let at = 0;
    for (let b = this.firstBlock[i]; b < this.firstBlock[i + 1]; b++) {
      at += this.model.block.bytes[b];
      if (address < at) return {row, block: b};
    }
    return null;
  }

  hover(event) {
    const found = this.blockAt(event);
    this.tip(found ? this.tell(this.order[found.row], found.block) : null, event);
  }

  // Pins what lives in a block; a free one is only marked.
  choose(row, block) {
    const {model} = this, i = this.order[row];
    this.row = row;
    this.chosen = block;
    let at = model.segment.offset[i] - 1;
    for (let b = this.firstBlock[i]; b < block; b++) at += model.block.bytes[b];
    const life = model.segment.offset[i] && model.block.state[block] ? model.lifeAt(model.ticks - 1, at) : -1;
    if (life < 0) this.pin(null);
    else this.pin(model.owner[life], life);
    this.draw();
  }

  key(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], jump = {ArrowUp: -1, ArrowDown: 1}[event.key], last = this.order.length - 1;
    if (event.key === 'Enter' && this.chosen >= 0) this.choose(this.row, this.chosen);
    else if (this.row < 0 && (step || jump)) this.move(0, this.firstBlock[this.order[0]]);
    else if (jump) {
      const row = Math.min(last, Math.max(0, this.row + jump));
      this.move(row, this.firstBlock[this.order[row]]);
    } else if (step) {
      const i = this.order[this.row];
      this.move(this.row, Math.min(this.firstBlock[i + 1] - 1, Math.max(this.firstBlock[i], this.chosen + step)));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move(row, block) {
    const i = this.order[row], top = row * SEGMENT_ROW, {box, model} = this;
    if (i == null || this.firstBlock[i] === this.firstBlock[i + 1]) return;
    this.row = row;
    this.chosen = block;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + SEGMENT_ROW + 8 > box.scrollTop + box.clientHeight) box.scrollTop = top + SEGMENT_ROW + 8 - box.clientHeight;
    this.draw();
    let at = 0;
    for (let b = this.firstBlock[i]; b < block; b++) at += model.block.bytes[b];
    const told = this.tell(i, block), around = box.getBoundingClientRect();
    this.tip(told, {clientX: around.left + this.left + at * (box.clientWidth - this.left - 14) / this.most, clientY: around.top + top - box.scrollTop + SEGMENT_ROW});
    this.say(`Segment ${row + 1}: ${told.textContent}`);
  }

  tell(i, b) {
    const {block} = this.model, name = this.model.texts[block.name[b]], frames = this.model.frames(block.stack[b]);
    const box = make('div', {}, make('b', {text: ['Free', 'In use', 'Waiting to be freed'][block.state[b]]}), ` ${formatBytes(block.bytes[b])}`,
      block.state[b] && block.requested[b] !== block.bytes[b] ? ` (${formatBytes(block.requested[b])} asked for)` : '');
    if (name) box.append(make('div', {text: name}));
    for (const f of frames.slice(0, 6)) box.append(make('div', {class: 'where', text: f}));
    return box;
  }
}
