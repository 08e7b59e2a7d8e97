// An allocator's segments and their blocks, as the snapshot shows them at its end.

const SEGMENT_ROW = 26;

class Segments {
  constructor(element, model, say) {
    this.model = model;
    this.say = say;
    const s = model.segment;
    this.firstBlock = new Uint32Array(s.bytes.length + 1);
    for (let i = 0; i < s.bytes.length; i++) this.firstBlock[i + 1] = this.firstBlock[i] + s.blocks[i];
    this.unused = Float64Array.from(s.bytes, (_, i) => {
      let sum = 0;
      for (let b = this.firstBlock[i]; b < this.firstBlock[i + 1]; b++) if (model.block.state[b] === 0) sum += model.block.bytes[b];
      return sum;
    });
    this.most = Math.max(1, ...s.bytes);
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
    this.box = make('div', {class: 'segments', tabindex: 0, 'aria-label': 'Segments', onscroll: () => this.draw()}, this.canvas, this.space);
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('pointerleave', () => this.say(null));
    element.append(meter, key, make('div', {class: 'tablebar'}, this.sorts), this.box);
  }

  sortBy(by) {
    const s = this.model.segment, value = {bytes: (i) => -s.bytes[i], unused: (i) => -this.unused[i], address: (i) => s.address[i]}[by];
    this.order.sort((a, b) => value(a) - value(b));
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
        g.fillStyle = state === 2 ? css(palette.kinds[KINDS.indexOf('workspace')]) : css(mix(palette.rotation[model.block.stack[b] % palette.rotation.length], palette.cardColour, 0.08));
        g.fillRect(this.left + at * scale, y, Math.max(0.6, wide - (wide > 3 ? 1 : 0)), SEGMENT_ROW - 8);
      }
      at += model.block.bytes[b];
    }
  }

  hover(event) {
    const box = this.box.getBoundingClientRect(), row = Math.floor((event.clientY - box.top + this.box.scrollTop - 4) / SEGMENT_ROW), i = this.order[row];
    const scale = (this.box.clientWidth - this.left - 14) / this.most, address = (event.clientX - box.left - this.left) / scale;
    if (i == null || address < 0 || address > this.model.segment.bytes[i]) return this.say(null);
    let at = 0;
    for (let b = this.firstBlock[i]; b < this.firstBlock[i + 1]; b++) {
      at += this.model.block.bytes[b];
      if (address < at) return this.say(this.tell(i, b), event);
    }
    this.say(null);
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
