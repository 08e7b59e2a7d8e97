// Words, numbers and colours.

const byId = (id) => document.getElementById(id);

// The same rounding as the program's: one decimal, powers of 1024.
function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = Math.abs(bytes), unit = 0;
  while (value >= (unit ? 1023.95 : 1024) && unit + 1 < units.length) {
    value /= 1024;
    unit++;
  }
  return `${bytes < 0 ? '−' : ''}${unit ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}
const groupDigits = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ',');
const exactBytes = (n) => `${groupDigits(n)} bytes`;
const percent = (share) => `${(100 * share).toFixed(1)}%`;
function formatSeconds(s) {
  if (s >= 100) return `${s.toFixed(0)} s`;
  if (s >= 1) return `${s.toFixed(2)} s`;
  if (s >= 1e-3) return `${(s * 1e3).toFixed(s >= 0.1 ? 0 : 1)} ms`;
  return `${(s * 1e6).toFixed(0)} µs`;
}
const plural = (n, word) => `${groupDigits(n)} ${word}${n === 1 ? '' : 's'}`;

// An element with text or children; all text from the data goes through textContent.
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === 'class') element.className = value;
    else if (key === 'text') element.textContent = value;
    else if (key === 'style') element.style.cssText = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, '');
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  for (const child of children) if (child != null) element.append(child);
  return element;
}

const palette = {kinds: [], packed: [], ink: '', soft: '', line: '', card: '', danger: '', accent: ''};
const rotation = ['--weight', '--workspace', '--activation', '--optimizer', '--data', '--gradient'];

function parseColour(text) {
  const n = parseInt(text.trim().slice(1), 16);
  return [n >> 16 & 255, n >> 8 & 255, n & 255];
}
// What an ImageData pixel is, little-endian.
const packColour = ([r, g, b], a = 255) => (a << 24 | b << 16 | g << 8 | r) >>> 0;
const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));

function readPalette() {
  const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
  palette.kinds = KINDS.map((kind) => parseColour(get(`--${kind}`)));
  palette.packed = palette.kinds.map((c) => packColour(c));
  palette.rotation = rotation.map((name) => parseColour(get(name)));
  for (const name of ['ink', 'soft', 'line', 'card', 'danger', 'accent', 'faint', 'paper']) palette[name] = get(`--${name}`);
  palette.cardColour = parseColour(palette.card);
}

const css = (c) => `rgb(${c[0]} ${c[1]} ${c[2]})`;
const kindColour = (kind) => css(palette.kinds[kind]);
// Tensors take their kind's colour, a little lighter or darker each; where there is one kind only, they rotate.
function tensorColour(model, tensor) {
  const spread = (tensor * 0.618033988749895) % 1;
  const base = model.kindsUsed.length > 1 ? palette.kinds[model.tensor.kind[tensor]] : palette.rotation[tensor % palette.rotation.length];
  return spread < 0.5 ? mix(base, [255, 255, 255], 0.34 * (0.5 - spread)) : mix(base, [0, 0, 0], 0.42 * (spread - 0.5));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readPalette();
}
