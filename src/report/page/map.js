// The address map: every life is a rectangle, from birth to death and from its first byte to its last. Drawn
// pixel by pixel: lives smaller than a pixel tint it by how much of it they cover.

class AddressMap extends Plot {
  constructor(element, axis, model, state) {
    super(element, axis);
    this.model = model;
    this.state = state;
    this.low = 0;
    this.high = Math.max(1, model.extent);
  }
  zoomVertically(factor, y) {
    const at = this.addressAt(y), whole = Math.max(1, this.model.extent);
    const span = Math.min(whole, Math.max((this.high - this.low) * factor, 256)), share = (at - this.low) / (this.high - this.low);
    this.showAddresses(at - share * span, span);
  }
  panVertically(share) { this.showAddresses(this.low + share * (this.high - this.low), this.high - this.low); }
  showAddresses(low, span) {
    const whole = Math.max(1, this.model.extent);
    this.low = Math.min(Math.max(0, low), whole - span);
    this.high = this.low + span;
    this.axis.changed();
  }
  addressAt(y) { return this.high - (y - MARGIN.top) / this.plotHeight * (this.high - this.low); }
  y(address) { return MARGIN.top + (this.high - address) / (this.high - this.low) * this.plotHeight; }

  draw() {
    const g = this.context(this.under);
    this.paint();
    this.drawBytesAxis(g, this.low, this.high);
    this.drawPixels(g);
    this.drawHorizontalAxis(g);
    this.drawOver();
  }

  // A life's pixels: left, right, top, bottom as fractions.
  rectangle(i, out) {
    const {model, axis, pixelWidth: w, pixelHeight: h} = this, sx = w / (axis.to - axis.from), sy = h / (this.high - this.low);
    out[0] = (axis.position(model.born[i]) - axis.from) * sx;
    out[1] = model.died[i] === NEVER ? w : (axis.position(model.died[i]) - axis.from) * sx;
    out[2] = (this.high - model.offset[i] - model.size[i]) * sy;
    out[3] = (this.high - model.offset[i]) * sy;
    return out;
  }

  paint() {
    const {model, axis, pixelWidth: w, pixelHeight: h, pixels} = this, hidden = this.state.hidden, box = new Float64Array(4);
    const background = packColour(mix(palette.cardColour, parseColour(palette.ink), 0.035));
    pixels.fill(background);
    const to = Math.min(axis.tickAt(axis.to) + 1, model.ticks), from = axis.tickAt(axis.from), end = model.births[to];
    const colours = this.colours();
    for (let i = 0; i < end; i++) {
      if (model.died[i] <= from || model.offset[i] < 0 || !model.size[i]) continue;
      const tensor = model.owner[i];
      if (hidden.size && hidden.has(model.tensor.kind[tensor])) continue;
      this.rectangle(i, box);
      if (box[1] < 0 || box[0] > w || box[3] < 0 || box[2] > h) continue;
      this.fill(box, colours[tensor]);
    }
  }

  colours() {
    const key = document.documentElement.dataset.theme + this.state.mode;
    if (this.colourKey !== key) {
      this.colourKey = key;
      this.colourList = new Uint32Array(this.model.tensor.name.length);
      for (let t = 0; t < this.colourList.length; t++) this.colourList[t] = packColour(tensorColour(this.model, t));
    }
    return this.colourList;
  }

  fill(box, colour) {
    const {pixelWidth: w, pixelHeight: h, pixels} = this;
    const x0 = Math.max(0, Math.round(box[0])), x1 = Math.min(w, Math.round(box[1])), y0 = Math.max(0, Math.round(box[2])), y1 = Math.min(h, Math.round(box[3]));
    if (x1 > x0 && y1 > y0) {
      const gap = y1 - y0 > 3 ? 1 : 0; // a line of background between neighbours
      for (let y = y0 + gap; y < y1; y++) pixels.fill(colour, y * w + x0, y * w + Math.max(x0 + 1, x1 - (x1 - x0 > 3 ? 1 : 0)));
      return;
    }
    const cover = Math.max(0.12, Math.min(1, box[1] - box[0]) * Math.min(1, box[3] - box[2]));
    const left = Math.min(w - 1, Math.max(0, Math.floor(box[0]))), right = Math.max(left + 1, x1), top = Math.min(h - 1, Math.max(0, Math.floor(box[2]))), bottom = Math.max(top + 1, y1);
    for (let y = top; y < bottom; y++) for (let x = left; x < right; x++) pixels[y * w + x] = tint(pixels[y * w + x], colour, cover);
  }

  drawOver() {
    const g = this.context(this.over), {state, model} = this;
    g.save();
    g.beginPath();
    g.rect(this.left, MARGIN.top, this.plotWidth, this.plotHeight);
    g.clip();
    const outline = (i, width) => {
      const [a, b, c, d] = this.rectangle(i, new Float64Array(4));
      g.strokeStyle = palette.card;
      g.lineWidth = width + 2;
      const x = this.left + a / this.ratio, y = MARGIN.top + c / this.ratio, wide = Math.max(2, (b - a) / this.ratio), tall = Math.max(2, (d - c) / this.ratio);
      g.strokeRect(x, y, wide, tall);
      g.strokeStyle = palette.ink;
      g.lineWidth = width;
      g.strokeRect(x, y, wide, tall);
      g.lineWidth = 1;
    };
    if (state.pin != null) {
      let shown = 0;
      for (const i of state.livesOf(state.pin)) if (model.offset[i] >= 0 && shown++ < 3000) outline(i, 2);
    }
    if (state.hoverLife >= 0 && model.offset[state.hoverLife] >= 0) outline(state.hoverLife, 1.5);
    if (state.cursor != null && model.count) {
      const x = Math.round(this.x(this.axis.position(state.cursor))) + 0.5;
      g.strokeStyle = palette.ink;
      g.globalAlpha = 0.5;
      g.beginPath();
      g.moveTo(x, MARGIN.top);
      g.lineTo(x, MARGIN.top + this.plotHeight);
      g.stroke();
    }
    g.restore();
  }

  find(x, y) {
    if (!this.model.count) return null;
    const tick = this.axis.tickAt(this.positionAt(x));
    return {tick, address: this.addressAt(y), life: this.model.lifeAt(tick, this.addressAt(y))};
  }
}

function tint(under, over, share) {
  const r = (under & 255) + ((over & 255) - (under & 255)) * share, g = (under >> 8 & 255) + ((over >> 8 & 255) - (under >> 8 & 255)) * share, b = (under >> 16 & 255) + ((over >> 16 & 255) - (under >> 16 & 255)) * share;
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}
