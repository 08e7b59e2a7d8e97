// What the two plots share: the visible range, canvases, pictures made of pixels, gestures.

const MARGIN = {left: 76, right: 14, top: 14, bottom: 30};

// The visible part of the horizontal axis. A position is an event number or a time.
class Axis {
  constructor(model) {
    this.model = model;
    this.listeners = [];
    this.unit = 'event';
    this.reset();
  }
  get end() { return this.unit === 'time' ? Math.max(this.model.times[this.model.ticks - 1] || 0, 1e-9) : Math.max(this.model.ticks, 1); }
  position(tick) {
    if (this.unit !== 'time') return tick;
    return this.model.times[Math.min(tick, this.model.ticks - 1)];
  }
  // The tick in force at a position.
  tickAt(position) {
    const last = this.model.ticks - 1;
    const tick = this.unit === 'time' ? upperBound(this.model.times, position) - 1 : Math.floor(position);
    return Math.min(Math.max(tick, 0), last);
  }
  reset() {
    this.from = 0;
    this.to = this.end;
    this.changed();
  }
  setUnit(unit) {
    if (unit === this.unit) return;
    const from = this.tickAt(this.from), to = this.tickAt(this.to), all = this.from <= 0 && this.to >= this.end;
    this.unit = unit;
    if (all) this.reset();
    else this.show(this.position(from), this.position(to));
  }
  show(from, to) {
    const end = this.end, least = this.unit === 'time' ? end / 1e7 : Math.min(4, end);
    let span = Math.min(Math.max(to - from, least), end);
    from = Math.min(Math.max(from, 0), end - span);
    this.from = from;
    this.to = from + span;
    this.changed();
  }
  zoom(factor, at = (this.from + this.to) / 2) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); }
  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }
  get whole() { return this.from <= 0 && this.to >= this.end; }
  changed() { for (const listener of this.listeners) listener(); }
}

// A plot: two canvases, one for the picture and one for what moves over it.
class Plot {
  constructor(element, axis, lane = 0) {
    this.element = element;
    this.axis = axis;
    this.lane = lane; // room between the picture and its axis
    [this.under, this.over] = element.querySelectorAll('canvas');
    this.size();
  }
  size() {
    const box = this.element.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.width = Math.max(box.width, 60);
    this.height = Math.max(box.height, 60);
    for (const canvas of [this.under, this.over]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.left = this.width < 480 ? 62 : MARGIN.left;
    this.plotWidth = this.width - this.left - MARGIN.right;
    this.plotHeight = this.height - MARGIN.top - MARGIN.bottom - this.lane;
    this.pixelWidth = Math.max(1, Math.round(this.plotWidth * this.ratio));
    this.pixelHeight = Math.max(1, Math.round(this.plotHeight * this.ratio));
    this.image = new ImageData(this.pixelWidth, this.pixelHeight);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  context(canvas) {
    const g = canvas.getContext('2d');
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    g.font = `${this.width < 480 ? 11 : 12}px system-ui, sans-serif`;
    return g;
  }
  putImage() { this.under.getContext('2d').putImageData(this.image, Math.round(this.left * this.ratio), Math.round(MARGIN.top * this.ratio)); }
  x(position) { return this.left + (position - this.axis.from) / (this.axis.to - this.axis.from) * this.plotWidth; }
  positionAt(x) { return this.axis.from + (x - this.left) / this.plotWidth * (this.axis.to - this.axis.from); }
  inside(x, y) { return x >= this.left && x <= this.left + this.plotWidth && y >= MARGIN.top && y <= MARGIN.top + this.plotHeight; }

  // Pixels go on a canvas of their own, so that they lie over the grid without erasing it.
  drawPixels(g) {
    if (!this.sheet) this.sheet = document.createElement('canvas');
    if (this.sheet.width !== this.pixelWidth || this.sheet.height !== this.pixelHeight) {
      this.sheet.width = this.pixelWidth;
      this.sheet.height = this.pixelHeight;
    }
    this.sheet.getContext('2d').putImageData(this.image, 0, 0);
    g.drawImage(this.sheet, this.left, MARGIN.top, this.plotWidth, this.plotHeight);
  }

  drawHorizontalAxis(g) {
    const base = MARGIN.top + this.plotHeight + this.lane;
    g.fillStyle = palette.soft;
    g.textBaseline = 'top';
    g.textAlign = 'center';
    const time = this.axis.unit === 'time', step = niceStep((this.axis.to - this.axis.from) / Math.max(2, this.plotWidth / 110), !time);
    for (let p = Math.ceil(this.axis.from / step) * step; p <= this.axis.to + step * 1e-6; p += step) {
      const x = this.x(p);
      if (x < this.left - 1 || x > this.left + this.plotWidth + 1) continue;
      g.strokeStyle = palette.line;
      g.beginPath();
      g.moveTo(x, base);
      g.lineTo(x, base + 4);
      g.stroke();
      const text = time ? (p === 0 ? '0 s' : formatSeconds(p)) : groupDigits(p), half = g.measureText(text).width / 2;
      g.fillText(text, Math.min(Math.max(x, this.left + half - 4), this.width - half - 2), base + 8);
    }
    g.textAlign = 'right';
    g.fillText(time ? 'time' : 'event', this.left - 10, base + 8);
  }
  drawBytesAxis(g, from, to) {
    const step = byteStep((to - from) / Math.max(2, this.plotHeight / 52));
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (let b = Math.ceil(from / step) * step; b <= to; b += step) {
      const y = MARGIN.top + this.plotHeight * (1 - (b - from) / (to - from));
      g.strokeStyle = palette.line;
      g.globalAlpha = 0.7;
      g.beginPath();
      g.moveTo(this.left, Math.round(y) + 0.5);
      g.lineTo(this.left + this.plotWidth, Math.round(y) + 0.5);
      g.stroke();
      g.globalAlpha = 1;
      g.fillStyle = palette.soft;
      g.fillText(axisBytes(b, step), this.left - 8, y);
    }
  }
}

function niceStep(raw, whole) {
  const power = 10 ** Math.floor(Math.log10(raw)), unit = raw / power;
  const step = (unit <= 1 ? 1 : unit <= 2 ? 2 : unit <= 5 ? 5 : 10) * power;
  return whole ? Math.max(1, step) : step;
}
// Round in powers of two, so that labels are round in KiB and MiB.
function byteStep(raw) {
  const power = 1024 ** Math.floor(Math.log(Math.max(raw, 1)) / Math.log(1024)), unit = raw / power;
  for (const n of [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 500, 512]) if (unit <= n) return n * power;
  return 1024 * power;
}

// In the unit of the step, so that labels are exact and of one kind.
function axisBytes(bytes, step) {
  const power = Math.floor(Math.log(step) / Math.log(1024) + 1e-9);
  return bytes === 0 ? '0' : `${groupDigits(bytes / 1024 ** power)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][power]}`;
}

// Drag pans, two fingers and the wheel zoom, a click pins; `plot.hover(x, y)` follows the pointer.
function listenToGestures(plot, handlers) {
  const element = plot.element, pointers = new Map();
  let moved = 0, pinch = null;
  const local = (event) => {
    const box = element.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  element.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, local(event));
    moved = 0;
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()];
      pinch = {distance: Math.abs(a.x - b.x), middle: plot.positionAt((a.x + b.x) / 2)};
    }
  });
  element.addEventListener('pointermove', (event) => {
    const now = local(event), before = pointers.get(event.pointerId);
    if (!before) {
      handlers.hover(now.x, now.y, event);
      return;
    }
    pointers.set(event.pointerId, now);
    if (pinch && pointers.size === 2) {
      const [a, b] = [...pointers.values()], distance = Math.max(20, Math.abs(a.x - b.x));
      plot.axis.zoom(pinch.distance / distance, pinch.middle);
      pinch.distance = distance;
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (moved < 4) return;
    if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
    element.classList.add('dragging');
    plot.axis.pan((before.x - now.x) / plot.plotWidth);
    if (handlers.panVertically) handlers.panVertically((now.y - before.y) / plot.plotHeight);
    handlers.leave();
  });
  const end = (event) => {
    const was = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    if (pointers.size < 2) pinch = null;
    element.classList.remove('dragging');
    if (was && moved < 4 && event.type === 'pointerup') handlers.click(was.x, was.y, event);
  };
  element.addEventListener('pointerup', end);
  element.addEventListener('pointercancel', end);
  element.addEventListener('pointerleave', () => handlers.leave());
  element.addEventListener('dblclick', (event) => plot.axis.zoom(0.4, plot.positionAt(local(event).x)));
  element.addEventListener('wheel', (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    event.preventDefault();
    if (event.shiftKey && handlers.zoomVertically) handlers.zoomVertically(Math.exp((event.deltaY || event.deltaX) * 0.0016), local(event).y);
    else if (sideways) plot.axis.pan(event.deltaX / plot.plotWidth);
    else plot.axis.zoom(Math.exp(event.deltaY * 0.0016), plot.positionAt(local(event).x));
  }, {passive: false});
}
