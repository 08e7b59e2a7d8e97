// The address map: every life is a rectangle, from birth to death and from its first byte to its last. Drawn
// pixel by pixel: lives smaller than a pixel tint it by how much of it they cover.

const MANY = 60000; // lives in sight from which on the map is aggregated
const FINER = 4; // columns of the picture of everything for each one of the screen

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
    const g = this.context(this.under), {axis, model} = this;
    this.aggregated = model.births[Math.min(axis.tickAt(axis.to) + 1, model.ticks)] - model.births[axis.tickAt(axis.from)] > MANY;
    if (!this.aggregated) this.paint({pixels: this.pixels, width: this.pixelWidth, height: this.pixelHeight, from: axis.from, to: axis.to, low: this.low, high: this.high});
    this.drawBytesAxis(g, this.low, this.high);
    if (this.aggregated) this.drawPart(g);
    else this.drawPixels(g);
    this.drawHorizontalAxis(g);
    this.drawOver();
  }

  // So many lives at once that most are smaller than a pixel: a part of one picture of everything, finer than the screen,
  // that is made once.
  drawPart(g) {
    const {axis, model} = this, width = this.pixelWidth * FINER, height = this.pixelHeight, whole = Math.max(1, model.extent);
    const key = [width, height, axis.unit, document.documentElement.dataset.theme, this.state.mode, ...this.state.hidden].join();
    if (this.everythingKey !== key) {
      this.everythingKey = key;
      this.everything ||= document.createElement('canvas');
      Object.assign(this.everything, {width, height});
      const image = new ImageData(width, height);
      this.paint({pixels: new Uint32Array(image.data.buffer), width, height, from: 0, to: axis.end, low: 0, high: whole});
      this.everything.getContext('2d').putImageData(image, 0, 0);
    }
    g.drawImage(this.everything, axis.from / axis.end * width, (whole - this.high) / whole * height, (axis.to - axis.from) / axis.end * width, (this.high - this.low) / whole * height,
      this.left, MARGIN.top, this.plotWidth, this.plotHeight);
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

  // The lives of a range of the axis and of addresses, into pixels.
  paint(view) {
    const {model, axis} = this, {born, died, offset, size, owner} = model, {width: w, height: h, high} = view, hidden = this.state.hidden, box = new Float64Array(4);
    view.pixels.fill(packColour(mix(palette.cardColour, parseColour(palette.ink), 0.035)));
    const from = axis.tickAt(view.from), end = model.births[Math.min(axis.tickAt(view.to) + 1, model.ticks)], colours = this.colours();
    const times = axis.unit === 'time' ? model.times : null, last = model.ticks - 1, sx = w / (view.to - view.from), sy = h / (high - view.low);
    for (let i = model.skip(0, from); i < end; i = model.skip(i + 1, from)) {
      if (died[i] <= from || offset[i] < 0 || !size[i]) continue;
      const tensor = owner[i];
      if (hidden.size && hidden.has(model.tensor.kind[tensor])) continue;
      // as rectangle() has it, without a call for each of a million
      box[0] = ((times ? times[born[i]] : born[i]) - view.from) * sx;
      box[1] = died[i] === NEVER ? w : ((times ? times[Math.min(died[i], last)] : died[i]) - view.from) * sx;
      box[3] = (high - offset[i]) * sy;
      box[2] = box[3] - size[i] * sy;
      if (box[1] < 0 || box[0] > w || box[3] < 0 || box[2] > h) continue;
      this.fill(view, box, colours[tensor]);
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

  fill({pixels, width: w, height: h}, box, colour) {
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
