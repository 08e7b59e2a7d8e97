// The data in the page: base64 of zlib of columns of variable-length integers, in the order that
// page_data.c writes them.

const meta = JSON.parse(document.getElementById('meta').textContent);
const summary = meta.summary;

function decodeBase64(text) {
  const value = new Uint8Array(128);
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let i = 0; i < 64; i++) value[digits.charCodeAt(i)] = i;
  let length = text.length;
  while (length && text.charCodeAt(length - 1) === 61) length--;
  const bytes = new Uint8Array(Math.floor(length * 3 / 4));
  for (let i = 0, at = 0; i < length; i += 4) {
    const bits = value[text.charCodeAt(i)] << 18 | value[text.charCodeAt(i + 1)] << 12 | (i + 2 < length ? value[text.charCodeAt(i + 2)] << 6 : 0) | (i + 3 < length ? value[text.charCodeAt(i + 3)] : 0);
    bytes[at++] = bits >> 16;
    bytes[at++] = bits >> 8;
    bytes[at++] = bits;
  }
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads columns one after the other. Numbers above 2^53 lose their last digits; no size gets there.
class Columns {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  next() {
    const bytes = this.bytes;
    let b = bytes[this.at++];
    if (b < 128) return b;
    let value = b & 127, scale = 128;
    do {
      b = bytes[this.at++];
      value += (b & 127) * scale;
      scale *= 128;
    } while (b >= 128);
    return value;
  }
  read(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.next();
    return array;
  }
  // Differences, zigzag.
  differences(array) {
    let last = 0;
    for (let i = 0; i < array.length; i++) {
      const z = this.next();
      last += z % 2 ? -(z + 1) / 2 : z / 2;
      array[i] = last;
    }
    return array;
  }
  texts(count) {
    const lengths = this.read(new Uint32Array(count)), decoder = new TextDecoder(), texts = new Array(count);
    for (let i = 0; i < count; i++) {
      texts[i] = lengths[i] ? decoder.decode(this.bytes.subarray(this.at, this.at + lengths[i])) : '';
      this.at += lengths[i];
    }
    return texts;
  }
}

async function loadData() {
  const element = document.getElementById('data'), layout = meta.layout;
  const columns = new Columns(await inflate(decodeBase64(element.textContent)));
  element.remove();
  const u8 = (n) => columns.read(new Uint8Array(n)), u32 = (n) => columns.read(new Uint32Array(n)), f64 = (n) => columns.read(new Float64Array(n));
  const d = {texts: columns.texts(layout.texts)};
  let n = layout.tensors;
  d.tensor = {name: u32(n), shape: u32(n), layer: u32(n), operation: u32(n), kind: u8(n), phase: u8(n), dtype: u8(n)};
  n = layout.lives;
  d.born = columns.differences(new Uint32Array(n));
  d.died = u32(n);
  for (let i = 0; i < n; i++) d.died[i] = d.died[i] ? d.born[i] + d.died[i] : 0xffffffff;
  d.owner = columns.differences(new Uint32Array(n));
  d.size = f64(n);
  d.offset = columns.differences(new Float64Array(n));
  for (let i = 0; i < n; i++) d.offset[i] -= 1; // -1: not known
  d.stackOf = u32(n);
  d.stack = {parent: u32(layout.stacks), frame: u32(layout.stacks)};
  n = layout.marks;
  d.mark = {tick: columns.differences(new Uint32Array(n)), type: u8(n), value: f64(n), text: u32(n)};
  d.times = columns.differences(new Float64Array(layout.times));
  for (let i = 0; i < d.times.length; i++) d.times[i] *= 1e-9;
  d.series = layout.series.map((s) => ({name: s.name, tick: columns.differences(new Uint32Array(s.samples)), bytes: f64(s.samples)}));
  n = layout.segments;
  d.segment = {address: f64(n), bytes: f64(n), offset: f64(n), stream: f64(n), pool: u32(n), blocks: u32(n)};
  n = layout.blocks;
  d.block = {bytes: f64(n), requested: f64(n), state: u8(n), stack: u32(n), name: u32(n)};
  return d;
}
