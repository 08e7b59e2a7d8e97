// The table of tensors, layers, operators or kinds. Only the rows in sight exist as elements.

const ROW = 32;
// `single`: only rows that stand for one tensor have it.
const COLUMNS = [
  {key: 'name', title: 'Name', width: 'auto'},
  {key: 'kind', single: true, title: 'Kind', width: '9.5rem', wide: true},
  {key: 'layer', single: true, title: 'Layer', width: '13%', wide: true},
  {key: 'operation', single: true, title: 'Operator', width: '10%', wide: true},
  {key: 'shape', single: true, title: 'Shape', width: '12rem', wide: true},
  {key: 'lives', title: 'Lives', width: '4.6rem', right: true, wide: true},
  {key: 'bytes', title: 'Bytes', width: '6.6rem', right: true},
  {key: 'share', title: 'Share', more: ' of peak', width: 'var(--share-width, 9.5rem)', right: true},
];

class Table {
  constructor(element, model, state, pin) {
    this.model = model;
    this.state = state;
    this.pin = pin;
    this.build(element);
    this.cache = new Map();
    this.refresh();
  }

  build(element) {
    this.search = make('input', {type: 'search', placeholder: 'Search names, layers, stacks…', 'aria-label': 'Search the table', id: 'search', value: this.state.query,
      oninput: () => {
        this.state.query = this.search.value;
        this.refresh();
        this.state.changed();
      }});
    this.sum = make('span', {class: 'sum', role: 'status'});
    const groups = [['tensor', 'tensors'], ['layer', 'layers'], ['operation', 'operators'], ['kind', 'kinds']];
    if (this.model.stack.parent.length > 1) groups.push(['stack', 'stacks']);
    this.groups = make('div', {class: 'switch', role: 'group', 'aria-label': 'Rows'}, ...groups.map(([key, title]) => make('button', {type: 'button', 'data-group': key, text: title,
      onclick: () => {
        this.state.group = key;
        this.refresh();
        this.state.changed();
      }})));
    this.head = make('tr', {}, ...COLUMNS.map((c) => make('th', {scope: 'col', class: `${c.right ? 'right' : ''} ${c.wide ? 'wide' : ''}`, style: `width:${c.width}`},
      make('button', {type: 'button', 'data-sort': c.key, onclick: () => this.sortBy(c.key)}))));
    this.body = make('tbody');
    this.current = 0; // the row that the tab key goes to
    this.grid = make('div', {class: 'grid', onscroll: () => this.rows()},
      this.table = make('table', {role: 'grid', 'aria-label': 'Tensors and layers'}, make('thead', {}, this.head), this.body));
    element.append(make('div', {class: 'tablebar'}, this.search, this.groups, this.sum), this.grid);
    new ResizeObserver(() => this.list && this.rows()).observe(this.grid);
  }

  sortBy(key) {
    const {sort} = this.state, up = key === 'name' || key === 'kind' || key === 'layer' || key === 'operation' || key === 'shape';
    this.state.sort = sort.key === key ? {key, down: !sort.down} : {key, down: !up};
    this.refresh();
    this.state.changed();
  }

  // One row for each value of the grouping: {name, tensor, bytes (largest life or, for groups, at the peak), ...}
  collect(group) {
    if (this.cache.has(group)) return this.cache.get(group);
    const {model} = this, rows = new Map();
    const keyOf = {tensor: (i) => model.owner[i], stack: (i) => model.stackOf[i]}[group] || ((i) => model.tensor[group][model.owner[i]]);
    for (let i = 0; i < model.count; i++) {
      const key = keyOf(i), tensor = model.owner[i];
      let row = rows.get(key);
      if (!row) rows.set(key, row = {key, tensor, lives: 0, largest: 0, atPeak: 0, first: i});
      row.lives++;
      if (model.size[i] > row.largest) row.largest = model.size[i];
      if (model.born[i] <= model.peakTick && model.peakTick < model.died[i]) row.atPeak += model.size[i];
    }
    const list = [...rows.values()];
    for (const row of list) this.describe(row, group);
    this.cache.set(group, list);
    return list;
  }

  describe(row, group) {
    const {model} = this, t = row.tensor, text = (id) => model.texts[id];
    row.kindIndex = model.tensor.kind[t];
    const single = group === 'tensor' || group === 'stack';
    row.kind = single || group === 'kind' ? KIND_TITLES[row.kindIndex] : '';
    row.layer = single || group === 'layer' ? text(model.tensor.layer[t]) : '';
    row.operation = single || group === 'operation' ? text(model.tensor.operation[t]) : '';
    row.shape = group === 'tensor' ? [text(model.tensor.shape[t]).replaceAll('x', '×'), DTYPES[model.tensor.dtype[t]]].filter(Boolean).join(' ') : '';
    row.name = {tensor: () => model.tensorName(t), layer: () => row.layer || 'no layer', operation: () => row.operation || 'no operator', kind: () => row.kind,
      stack: () => model.frames(row.key).map((f) => f.replace(/^\S*\//, '')).join(' ‹ ') || 'no stack'}[group]();
    row.bytes = group === 'tensor' ? row.largest : row.atPeak;
    row.share = model.peak ? row.atPeak / model.peak : 0;
    row.found = [row.name, row.layer, row.operation, row.kind, row.shape].join('\n').toLowerCase();
  }

  refresh() {
    const {state} = this, all = this.collect(state.group), words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    this.list = words.length ? all.filter((row) => words.every((w) => row.found.includes(w) || this.inStack(row, w))) : all.slice();
    const {key, down} = state.sort, sign = down ? -1 : 1;
    const compare = typeof (all[0] || {})[key] === 'string' ? (a, b) => a[key].localeCompare(b[key], 'en', {numeric: true}) : (a, b) => a[key] - b[key];
    this.list.sort((a, b) => sign * compare(a, b) || b.atPeak - a.atPeak || a.first - b.first);
    this.columns = COLUMNS.filter((c) => state.group === 'tensor' || !c.single || c.key === 'kind' && state.group === 'stack');
    for (const th of this.head.children) {
      th.hidden = !this.columns.some((c) => c.key === th.firstChild.dataset.sort);
      const own = th.firstChild.dataset.sort === key, column = COLUMNS.find((c) => c.key === th.firstChild.dataset.sort);
      th.setAttribute('aria-sort', own ? (down ? 'descending' : 'ascending') : 'none');
      th.firstChild.replaceChildren(column.title, column.more ? make('span', {class: 'wide', text: column.more}) : '', own ? (down ? ' ↓' : ' ↑') : '');
    }
    for (const button of this.groups.children) button.setAttribute('aria-pressed', String(button.dataset.group === state.group));
    this.search.value = state.query;
    const bytes = this.list.reduce((sum, row) => sum + row.atPeak, 0);
    this.sum.textContent = `${groupDigits(this.list.length)}${words.length ? ` of ${groupDigits(all.length)}` : ''} rows, ${formatBytes(bytes)} at the peak`;
    this.mostShare = all.reduce((most, row) => Math.max(most, row.share), 0);
    this.table.setAttribute('aria-rowcount', this.list.length + 1);
    this.current = 0;
    this.grid.scrollTop = 0;
    this.rows();
  }

  inStack(row, word) {
    const {model} = this;
    for (let s = model.stackOf[row.first]; s; s = model.stack.parent[s]) if (model.texts[model.stack.frame[s]].toLowerCase().includes(word)) return true;
    return false;
  }

  // What the cells of each column have room for. Names differ at both ends: they are cut in the middle, by what is really seen.
  measure() {
    const context = this.context ||= document.createElement('canvas').getContext('2d'), cell = this.body.querySelector('tr[data-row] td') || this.grid;
    const {fontStyle, fontWeight, fontSize, fontFamily} = getComputedStyle(cell); // `font` is empty where digits are all as wide
    context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    this.room = Object.fromEntries([...this.head.children].map((th) => [th.firstChild.dataset.sort, th.clientWidth - 26]));
  }

  cut(text, key) {
    const room = this.room[key], width = (t) => this.context.measureText(t).width;
    if (typeof text !== 'string' || room <= 0 || width(text) <= room) return text;
    let most = Math.max(5, Math.floor(text.length * room / width(text)));
    while (most > 5 && width(elide(text, most)) > room) most--;
    return elide(text, most);
  }

  rows() {
    this.measure();
    const first = Math.max(0, Math.floor(this.grid.scrollTop / ROW) - 6), last = Math.min(this.list.length, first + Math.ceil(this.grid.clientHeight / ROW) + 14);
    const spacer = (n) => make('tr', {class: 'spacer', 'aria-hidden': 'true'}, make('td', {style: `height:${n * ROW}px`}));
    const rows = [spacer(first)], focused = this.body.contains(document.activeElement);
    if (this.current < first || this.current >= last) this.current = Math.min(last - 1, Math.ceil(this.grid.scrollTop / ROW));
    for (let i = first; i < last; i++) rows.push(this.row(this.list[i], i));
    rows.push(spacer(this.list.length - last));
    this.body.replaceChildren(...rows);
    if (focused) this.body.querySelector('[tabindex="0"]')?.focus({preventScroll: true});
  }

  // Moves the focus to a row and brings it into sight.
  goTo(index) {
    const {grid} = this, head = this.head.getBoundingClientRect().height;
    this.current = Math.min(this.list.length - 1, Math.max(0, index));
    const top = this.current * ROW;
    if (top < grid.scrollTop) grid.scrollTop = top;
    if (top + ROW + head > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + ROW + head - grid.clientHeight;
    this.rows();
  }

  row(row, index) {
    const selected = this.state.group === 'tensor' ? this.state.pin === row.tensor : false;
    const cell = (c) => {
      const td = make('td', {class: `${c.right ? 'right' : ''} ${c.wide ? 'wide' : ''}`});
      if (c.key === 'kind' && row.kind) td.append(make('span', {class: 'kind'}, make('span', {class: 'swatch', style: `background:${kindColour(row.kindIndex)}`}), row.kind));
      else if (c.key === 'bytes') Object.assign(td, {textContent: formatBytes(row.bytes), title: exactBytes(row.bytes)});
      else if (c.key === 'lives') td.textContent = groupDigits(row.lives);
      else if (c.key === 'share') td.append(make('span', {class: 'share'}, make('i', {'aria-hidden': 'true'}, make('b', {style: `width:${this.mostShare ? 100 * row.share / this.mostShare : 0}%`})), percent(row.share)));
      else Object.assign(td, {textContent: this.cut(row[c.key], c.key), title: row[c.key]});
      return td;
    };
    const open = () => {
      this.current = index;
      this.open(row);
    };
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2), moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -index, End: this.list.length};
    return make('tr', {'data-row': index, tabindex: index === this.current ? 0 : -1, 'aria-selected': String(selected), 'aria-rowindex': index + 2, onclick: open,
      onkeydown: (event) => {
        if (event.key === 'Enter') open();
        else if (moves[event.key]) this.goTo(index + moves[event.key]);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}, ...this.columns.map(cell));
  }

  // A tensor is pinned; a group is opened: its tensors, found by its name.
  open(row) {
    const {state} = this;
    if (state.group === 'tensor' || state.group === 'stack') {
      this.pin(state.pin === row.tensor ? null : row.tensor);
      return;
    }
    state.query = row.name;
    state.group = 'tensor';
    this.refresh();
    state.changed();
  }
}
