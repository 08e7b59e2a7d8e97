// Puts the page together: state, links to views, keys, and what is said to screen readers.

const VIEWS = [['table', 'Tensors and layers'], ['frontier', 'Frontier'], ['compare', 'Planned and measured'], ['segments', 'Segments and blocks'], ['leaks', 'Leaks']];

const state = {
  mode: 'kind', view: 'table', group: 'tensor', query: '', sort: {key: 'share', down: true}, hidden: new Set(),
  pin: null, life: -1, hoverLife: -1, cursor: null, marker: null, point: -1, alternative: 0,
  livesOf: () => [], changed: () => {},
};

function start(model) {
  const axis = new Axis(model), chart = new Chart(byId('chart'), axis, model, state), map = new AddressMap(byId('map'), axis, model, state);
  const updateDetail = buildDetail(byId('detail'), model, state, pin);
  let frame = 0, table = null, segments = null, showPoint = null, byOwner = null;

  // Lives of each tensor, made when first asked for.
  state.livesOf = (tensor) => {
    if (!byOwner) {
      byOwner = new Map();
      for (let i = 0; i < model.count; i++) {
        const list = byOwner.get(model.owner[i]);
        if (list) list.push(i);
        else byOwner.set(model.owner[i], [i]);
      }
    }
    return byOwner.get(tensor) || [];
  };

  // What a link need not say. One kind alone would be one colour; in a plan the many small steps between the long ones
  // would fill the picture, in a run most updates are not recorded and would be gaps.
  const usual = {mode: model.kindsUsed.length > 1 ? 'kind' : 'tensor', unit: summary.source === 'plan' && model.times.length ? 'time' : 'event'};

  // --- drawing, at most once a frame ---
  const pending = {all: false, over: false};
  const schedule = (what) => {
    pending[what] = true;
    if (!frame) frame = requestAnimationFrame(draw);
  };
  function draw() {
    cancelAnimationFrame(frame);
    frame = 0;
    if (pending.all) {
      chart.draw();
      if (model.extent) map.draw();
      describePlots();
    } else {
      chart.drawOver();
      if (model.extent) map.drawOver();
    }
    pending.all = pending.over = false;
  }
  axis.listeners.push(() => {
    schedule('all');
    state.changed();
  });

  function describePlots() {
    const part = axis.whole ? 'the whole record' : `events ${groupDigits(axis.tickAt(axis.from))} to ${groupDigits(axis.tickAt(axis.to))}`;
    byId('chart').setAttribute('aria-label', `Memory over the step, ${part}. Peak ${formatBytes(model.peak)}${summary.peak.place ? ` at ${summary.peak.place}` : ''}. Arrow keys move, plus and minus zoom.`);
    byId('map').setAttribute('aria-label', `Address map, ${part}: ${formatBytes(model.extent)} of addresses.`);
  }

  // --- the link to this view ---
  let linking = 0;
  state.changed = () => {
    if (!linking) linking = setTimeout(writeLink, 120);
  };
  function writeLink() {
    linking = 0;
    const words = new URLSearchParams();
    if (state.view !== 'table') words.set('view', state.view);
    if (state.mode !== usual.mode) words.set('stack', state.mode);
    if (axis.unit !== usual.unit) words.set('axis', axis.unit);
    if (!axis.whole) words.set('x', `${axis.tickAt(axis.from)}-${Math.ceil(axis.unit === 'time' ? axis.tickAt(axis.to) : axis.to)}`);
    if (state.pin != null) words.set('pin', state.pin);
    if (state.query) words.set('q', state.query);
    if (state.group !== 'tensor') words.set('rows', state.group);
    if (state.sort.key !== 'share' || !state.sort.down) words.set('sort', `${state.sort.down ? '-' : ''}${state.sort.key}`);
    if (map.low > 0 || map.high < model.extent) words.set('y', `${Math.round(map.low)}-${Math.round(map.high)}`);
    if (state.marker != null) words.set('at', state.marker);
    if (state.point >= 0) words.set('point', state.point);
    if (state.hidden.size) words.set('hide', [...state.hidden].map((k) => KINDS[k]).join(','));
    const link = words.toString();
    if (link !== location.hash.slice(1)) history.replaceState(null, '', link ? `#${link}` : location.pathname + location.search);
  }
  function readLink() {
    const words = new URLSearchParams(location.hash.slice(1)), has = (list, v, otherwise) => (list.includes(v) ? v : otherwise);
    state.view = has(VIEWS.map((v) => v[0]), words.get('view'), 'table');
    state.mode = has(['kind', 'tensor'], words.get('stack'), usual.mode);
    state.group = has(['tensor', 'layer', 'operation', 'kind', 'stack'], words.get('rows'), 'tensor');
    state.query = words.get('q') || '';
    const sort = words.get('sort') || '-share', key = sort.replace(/^-/, '');
    if (COLUMNS.some((c) => c.key === key)) state.sort = {key, down: sort[0] === '-'};
    state.hidden = new Set((words.get('hide') || '').split(',').map((k) => KINDS.indexOf(k)).filter((k) => k >= 0));
    const tensor = parseInt(words.get('pin'), 10);
    state.pin = tensor >= 0 && tensor < model.tensor.name.length ? tensor : null;
    const number = (word) => (/^\d+$/.test(words.get(word) || '') ? +words.get(word) : -1), addresses = /^(\d+)-(\d+)$/.exec(words.get('y') || '');
    state.marker = number('at') >= 0 && number('at') < model.ticks ? number('at') : null;
    state.point = number('point') < summary.frontier.length ? number('point') : -1;
    state.alternative = state.point >= 0 && !frontierPoints[state.point].chosen ? frontierPoints[state.point].budget_bytes : 0;
    if (state.point >= 0) showDecision(frontierPoints[state.point]);
    showPoint?.(state.point);
    map.low = 0;
    map.high = Math.max(1, model.extent);
    if (addresses && +addresses[1] < +addresses[2] && +addresses[2] <= model.extent) [map.low, map.high] = [+addresses[1], +addresses[2]];
    axis.setUnit(model.times.length ? has(['event', 'time'], words.get('axis'), usual.unit) : 'event');
    const range = /^(\d+)-(\d+)$/.exec(words.get('x') || '');
    if (range) axis.show(axis.position(+range[1]), axis.position(+range[2]));
    else axis.reset();
  }
  function applyState() {
    for (const b of document.querySelectorAll('[data-mode]')) b.setAttribute('aria-pressed', String(b.dataset.mode === state.mode));
    for (const b of document.querySelectorAll('[data-axis]')) b.setAttribute('aria-pressed', String(b.dataset.axis === axis.unit));
    legend();
    if (table) table.refresh();
    updateDetail();
    showView(state.view);
    chart.bandKey = null;
    schedule('all');
  }

  // --- choosing ---
  function pin(tensor, life = -1) {
    state.pin = tensor;
    state.life = life;
    chart.bandKey = null;
    if (table) table.rows();
    if (segments) segments.draw();
    updateDetail();
    schedule('all');
    say(tensor == null ? 'Nothing is pinned.' : `Pinned ${model.tensorName(tensor)}.`);
    state.changed();
  }
  const say = (text) => { byId('said').textContent = text; };

  function setMode(mode) {
    state.mode = mode;
    applyState();
    state.changed();
  }
  function setUnit(unit) {
    axis.setUnit(unit);
    applyState();
  }
  function toPeak() {
    const span = Math.max(40, Math.min(model.ticks / 8, 400)), middle = model.peakTick + 0.5;
    const from = Math.max(0, middle - span / 2), to = Math.min(model.ticks, middle + span / 2);
    axis.show(axis.position(Math.floor(from)), axis.unit === 'time' ? axis.position(Math.ceil(to)) : to);
    state.cursor = state.marker = model.peakTick;
    updateDetail();
  }

  // --- the tip beside the pointer ---
  const tip = byId('tip');
  function showTip(content, event) {
    if (!content) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(content);
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), x = event.clientX + 16, y = event.clientY + 16;
    tip.style.left = `${Math.max(4, x + box.width > innerWidth - 8 ? event.clientX - box.width - 14 : x)}px`;
    tip.style.top = `${Math.max(4, y + box.height > innerHeight - 8 ? event.clientY - box.height - 14 : y)}px`;
  }
  const when = (tick) => [model.times.length ? formatSeconds(model.times[tick]) : '', `event ${groupDigits(tick)}`, model.place(tick)].filter(Boolean).join(' · ');
  const tipRow = (title, bytes, colour, on) => make('tr', {class: on ? 'on' : ''}, make('td', {}, make('span', {class: 'swatch', style: `background:${colour};margin-right:.45rem`}), title), make('td', {text: formatBytes(bytes)}));
  function lifeTip(i, tick) {
    const t = model.owner[i], shape = model.texts[model.tensor.shape[t]], frames = model.frames(model.stackOf[i]).slice(0, 3);
    return make('div', {}, make('b', {text: model.tensorName(t)}), make('div', {text: `${formatBytes(model.size[i])}${shape ? ` · ${shape.replaceAll('x', '×')}` : ''} · ${KIND_TITLES[model.tensor.kind[t]].toLowerCase()}`}),
      make('div', {class: 'where', text: when(tick)}), ...frames.map((f) => make('div', {class: 'where', text: f})));
  }
  function chartTip(found) {
    const box = make('div', {}, make('b', {text: formatBytes(found.total)}), make('div', {class: 'where', text: when(found.tick)})), rows = make('table');
    if (state.mode === 'kind') {
      model.kindsAt(found.tick, chart.kinds);
      for (let k = KINDS.length - 1; k >= 0; k--) if (chart.kinds[k] > 0) rows.append(tipRow(KIND_TITLES[k], chart.kinds[k], kindColour(k), k === found.kind));
    } else {
      const own = model.largestAt(found.tick, 7);
      if (found.tensor != null && !own.some((i) => model.owner[i] === found.tensor)) model.eachAlive(found.tick, (i) => { if (model.owner[i] === found.tensor) own.push(i); });
      for (const i of own.slice(0, 9)) rows.append(tipRow(model.tensorName(model.owner[i]), model.size[i], css(tensorColour(model, model.owner[i])), model.owner[i] === found.tensor));
      if (found.rest) rows.append(tipRow('all smaller tensors', found.rest, palette.line, false));
    }
    box.append(rows);
    return box;
  }

  const leave = () => {
    state.cursor = null;
    state.hoverLife = -1;
    showTip(null);
    schedule('over');
  };
  listenToGestures(chart, {
    leave,
    hover(x, y, event) {
      const found = chart.inside(x, y) ? chart.find(x, y) : null;
      if (!found) return leave();
      state.cursor = found.tick;
      showTip(chartTip(found), event);
      schedule('over');
    },
    click(x, y, event) {
      const found = chart.inside(x, y) ? chart.find(x, y) : null;
      if (!found) return;
      state.marker = found.tick;
      if (found.tensor != null) pin(state.pin === found.tensor ? null : found.tensor);
      else {
        if (state.pin != null) pin(null);
        updateDetail();
        state.changed();
      }
      if (event.pointerType !== 'mouse') this.hover(x, y, event);
    },
  });
  listenToGestures(map, {
    leave,
    hover(x, y, event) {
      const found = map.inside(x, y) ? map.find(x, y) : null;
      if (!found) return leave();
      state.cursor = found.tick;
      state.hoverLife = found.life;
      showTip(found.life >= 0 ? lifeTip(found.life, found.tick) : make('div', {}, make('b', {text: 'Free'}), make('div', {class: 'where', text: `at ${formatBytes(found.address)} · ${when(found.tick)}`})), event);
      schedule('over');
    },
    click(x, y) {
      const found = map.inside(x, y) ? map.find(x, y) : null;
      if (!found) return;
      state.marker = found.tick;
      pin(found.life >= 0 && state.pin !== model.owner[found.life] ? model.owner[found.life] : null, found.life);
    },
    zoomVertically: (factor, y) => map.zoomVertically(factor, y),
    panVertically: (share) => map.panVertically(share),
  });

  // --- the legend switches kinds on and off ---
  function legend() {
    byId('legend').hidden = model.kindsUsed.length < 2;
    byId('legend').replaceChildren(...model.kindsUsed.map((k) => {
      const bytes = summary.peak.kinds[KINDS[k]] || 0;
      return make('li', {}, make('button', {type: 'button', 'aria-pressed': String(!state.hidden.has(k)), title: `${exactBytes(bytes)} at the peak`, onclick: () => {
        if (!state.hidden.delete(k)) state.hidden.add(k);
        applyState();
        state.changed();
      }}, make('span', {class: 'swatch', style: `background:${kindColour(k)}`}), KIND_TITLES[k], make('small', {text: formatBytes(bytes)})));
    }));
    if (recomputes) byId('legend').append(make('li', {class: 'key'}, make('span', {class: 'swatch again'}), 'recomputed stretch, below the chart'));
    byId('legend').hidden &&= !recomputes;
  }
  const recomputes = (() => {
    for (let i = 0; i < model.mark.type.length; i++) if (model.mark.type[i] === MARK.phase && PHASES[model.mark.value[i]] === 'recompute') return true;
    return false;
  })();

  // --- views ---
  const holds = {table: true, frontier: summary.frontier.length > 0, compare: summary.planned_and_measured.length > 0, segments: summary.allocator != null, leaks: summary.loop.steps > 0 || summary.source === 'torch-snapshot'};
  const available = VIEWS.filter(([key]) => holds[key]);
  const tabs = byId('tabs');
  available.forEach(([key, title], i) => {
    const worry = key === 'leaks' ? summary.loop.leaks.length + (summary.loop.fragmenting ? 1 : 0) : 0;
    tabs.append(make('button', {type: 'button', role: 'tab', id: `${key}-tab`, 'aria-controls': `${key}-panel`, title: `${title} (${i + 1})`, onclick: () => {
      showView(key);
      state.changed();
    }}, title, worry ? make('span', {class: 'count', text: ` ${worry}`}) : null));
    byId(`${key}-panel`).setAttribute('aria-labelledby', `${key}-tab`);
  });
  tabs.addEventListener('keydown', (event) => {
    const at = available.findIndex(([key]) => key === state.view), step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = available[(at + step + available.length) % available.length][0];
    showView(next);
    byId(`${next}-tab`).focus();
    state.changed();
    event.stopPropagation();
  });
  // An alternative's budget is a line in the chart too.
  const showDecision = buildDecisions(byId('decisions'), (i) => {
    if (showPoint) showPoint(i);
    else choosePoint(frontierPoints[i].chosen ? -1 : i, frontierPoints[i]);
  });
  function choosePoint(index, point) {
    state.point = index;
    showDecision(point);
    state.alternative = index < 0 ? 0 : point.budget_bytes;
    schedule('all');
    state.changed();
  }
  function showView(view) {
    if (!available.some(([key]) => key === view)) view = 'table';
    state.view = view;
    for (const [key] of VIEWS) byId(`${key}-panel`).hidden = key !== view;
    for (const tab of tabs.children) {
      const own = tab.id === `${view}-tab`;
      tab.setAttribute('aria-selected', String(own));
      tab.tabIndex = own ? 0 : -1;
    }
    if (view === 'table' && table) table.rows();
    if (view === 'segments') (segments ||= new Segments(byId('segments-panel'), model, state, {tip: showTip, say, pin})).draw();
    if (view === 'frontier') showPoint ||= buildFrontier(byId('frontier-panel'), state.point, choosePoint);
  }
  if (summary.planned_and_measured.length) buildCompare(byId('compare-panel'));
  if (available.some(([key]) => key === 'leaks')) buildLeaks(byId('leaks-panel'), (life) => pin(model.owner[life], life));

  // --- buttons and keys ---
  for (const b of document.querySelectorAll('[data-mode]')) b.addEventListener('click', () => setMode(b.dataset.mode));
  for (const b of document.querySelectorAll('[data-axis]')) b.addEventListener('click', () => setUnit(b.dataset.axis));
  byId('axis-switch').hidden = !model.times.length;
  byId('zoom-in').addEventListener('click', () => axis.zoom(0.5));
  byId('zoom-out').addEventListener('click', () => axis.zoom(2));
  byId('zoom-all').addEventListener('click', showAll);
  byId('zoom-peak').addEventListener('click', toPeak);
  byId('theme').addEventListener('click', switchTheme);
  byId('help').addEventListener('click', () => byId('keys').showModal());
  function showAll() {
    map.low = 0;
    map.high = Math.max(1, model.extent);
    axis.reset();
  }
  function switchTheme() {
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    applyState();
    if (segments) segments.draw();
  }
  function moveCursor(by) {
    const column = chart.ticks.length / chart.plotWidth, now = state.cursor ?? chart.ticks[Math.floor(chart.ticks.length / 2)];
    let at = Math.min(chart.ticks.length - 1, Math.max(0, upperBound(chart.ticks, now) - 1));
    const wide = axis.to - axis.from < chart.plotWidth ? 0 : column;
    const next = wide ? chart.ticks[Math.min(chart.ticks.length - 1, Math.max(0, Math.round(at + by * Math.max(1, wide))))] : Math.min(model.ticks - 1, Math.max(0, now + by));
    state.cursor = state.marker = next;
    if (axis.position(next) < axis.from || axis.position(next) > axis.to) axis.pan(by > 0 ? 0.5 : -0.5);
    updateDetail();
    schedule('over');
    state.changed();
    say(`${formatBytes(model.totals[next])} at ${when(next)}`);
  }
  const keys = {
    ArrowLeft: (e) => (e.shiftKey ? axis.pan(-0.25) : moveCursor(-1)), ArrowRight: (e) => (e.shiftKey ? axis.pan(0.25) : moveCursor(1)), Home: () => axis.pan(-1e9), End: () => axis.pan(1e9),
    '+': () => axis.zoom(0.6, center()), '=': () => axis.zoom(0.6, center()), '-': () => axis.zoom(1 / 0.6, center()), 0: showAll, p: toPeak, t: () => setMode(state.mode === 'kind' ? 'tensor' : 'kind'),
    d: switchTheme, '?': () => byId('keys').showModal(), Escape: () => { state.marker = null; pin(null); },
    '/': () => { showView('table'); byId('search').focus(); },
    Enter: () => { const at = state.cursor ?? model.peakTick, [life] = model.largestAt(at, 1); if (life != null) pin(model.owner[life], life); },
  };
  const center = () => (state.cursor != null ? axis.position(state.cursor) : undefined);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
    const field = event.target.closest('input, select'), onPlot = event.target.closest('.plot') || event.target === document.body;
    if (field) {
      if (event.key === 'Escape') field.blur();
      return;
    }
    if (/^[1-5]$/.test(event.key) && available[event.key - 1]) {
      showView(available[event.key - 1][0]);
      state.changed();
      return;
    }
    const action = keys[event.key];
    if (!action || (/^(Arrow|Home|End|Enter)/.test(event.key) && !onPlot)) return;
    event.preventDefault();
    action(event);
  });
  const help = [['← →', 'move along the step'], ['shift ← →', 'pan'], ['+ −', 'zoom; the wheel or two fingers do too'], ['0', 'show everything'], ['P', 'go to the peak'], ['T', 'stack by kind or by tensor'], ['Enter', 'pin the largest at the cursor'],
    ['Esc', 'unpin'], ['/', 'search the table'], ['1 to 5', 'switch views'], ['D', 'light or dark'], ['shift wheel', 'zoom the address map vertically']];
  byId('keys').append(make('h2', {id: 'keys-title', text: 'Keys and gestures'}), make('table', {}, ...help.map(([k, what]) => make('tr', {}, make('td', {}, ...k.split(' ').map((w) => (/^(to)$/.test(w) ? ` ${w} ` : make('kbd', {text: w})))), make('td', {text: what})))),
    make('p', {class: 'hint', text: 'Click a band, a rectangle or a row to pin it. The address of this page always links to what you see.'}), make('form', {method: 'dialog', style: 'margin-top:.8rem'}, make('button', {class: 'link', text: 'Close'})));

  // --- start ---
  fillHead(model);
  byId('map-card').hidden = !model.extent;
  readLink();
  table = new Table(byId('table-panel'), model, state, pin);
  chart.size();
  if (model.extent) map.size();
  applyState();
  draw();
  addEventListener('hashchange', () => {
    readLink();
    applyState();
  });
  let resizing = 0;
  new ResizeObserver(() => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => {
      chart.size();
      if (model.extent) map.size();
      chart.bandKey = null;
      pending.all = true;
      draw(); // in this frame: a new size has emptied the canvases
      if (segments) segments.draw();
    });
  }).observe(byId('chart'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => {
    setTheme(event.matches ? 'dark' : 'light');
    applyState();
  });
  // for tests and for the curious
  window.plimsoll = {model, state, axis, chart, map, summary, pin, draw: () => { chart.draw(); if (model.extent) map.draw(); }, readyAfter: performance.now()};
  document.documentElement.dataset.ready = 'true';
}

// Names of operators may be broken between their words: ConvGrad|Weight.
const breakable = (text) => `${text ?? ''}`.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, i) => (i ? [make('wbr', {}), part] : [part]));

function fillHead(model) {
  const titles = {plan: 'A plan', run: 'A run', 'torch-snapshot': 'A PyTorch memory snapshot', 'tensorflow-dump': 'A TensorFlow allocator dump'};
  byId('title').textContent = summary.title || titles[summary.source];
  byId('facts').append(make('span', {text: titles[summary.source]}), ...Object.entries(summary.facts).map(([k, v]) => make('span', {}, `${k} `, make('b', {text: v}))));
  if (summary.source === 'torch-snapshot') byId('chart-title').textContent = 'Memory over time';
  if (summary.source === 'tensorflow-dump') byId('chart-title').textContent = 'Memory at the dump';
  const figure = (title, value, note, bad) => byId('figures').append(make('div', {class: 'figure'}, make('dt', {text: title}), make('dd', {class: bad ? 'bad' : ''}, value, make('small', {}, ...breakable(note)))));
  const peak = model.peak, budget = summary.budget_bytes;
  const process = summary.planned_and_measured.find((r) => r.what.startsWith('process')), most = Math.max(peak, process?.measured_bytes ?? 0);
  figure(process ? 'Recorded peak' : 'Peak', formatBytes(peak), [exactBytes(peak), summary.peak.place].filter(Boolean).join(', '));
  if (budget) figure('Budget', formatBytes(budget), budget >= most ? `${formatBytes(budget - most)} to spare` : `${formatBytes(most - budget)} over`, most > budget);
  else if (summary.capacity_bytes) figure('Capacity', formatBytes(summary.capacity_bytes), exactBytes(summary.capacity_bytes));
  const refusal = summary.refusal;
  if (refusal?.reserved_bytes != null) { // what the segments show is freed afterwards
    figure('Reserved at the refusal', formatBytes(refusal.reserved_bytes), `${formatBytes(refusal.live_bytes)} live${refusal.free_bytes == null ? '' : `, ${formatBytes(refusal.free_bytes)} free on the device`}`);
    figure('Cached, unused', formatBytes(Math.max(0, refusal.reserved_bytes - refusal.live_bytes)), 'at the refusal');
  } else if (summary.allocator) {
    const a = summary.allocator;
    figure('Reserved', formatBytes(a.reserved_bytes), `${plural(a.segments, 'segment')}, ${plural(a.blocks, 'block')}`);
    figure('Cached, unused', formatBytes(a.unused_bytes), `${percent(a.fragmentation)} fragmented, largest run ${formatBytes(a.largest_free_bytes)}`, a.fragmented);
  } else if (summary.arena_bytes) {
    figure('Arena', formatBytes(summary.arena_bytes), `packed to ${percent(model.placedAtPeak() / summary.arena_bytes)}`);
  }
  const own = summary.series.find((s) => s.name === 'loss' && s.curve)?.curve.updates, updates = own?.length ? own.at(-1) - own[0] + 1 : 0;
  if (chosenPlan) figure('Time of an update', formatSeconds(chosenPlan.seconds), `expected, ${slower(chosenPlan).replace(/^\+(.*)/, '$1 more than without this budget')}`);
  if (summary.source === 'run' && updates > 1 && summary.seconds) figure('Measured time', formatSeconds(summary.seconds / updates), `an update, all that lies between included; ${plural(updates, 'update')} in ${formatSeconds(summary.seconds)}`);
  if (process) figure('Measured memory', formatBytes(process.measured_bytes), `planned ${formatBytes(process.planned_bytes)}, the whole process at its highest`, summary.budget_bytes > 0 && process.measured_bytes > summary.budget_bytes);
  for (const s of summary.series.filter((x) => x.name === 'loss' && x.samples)) figure(s.name[0].toUpperCase() + s.name.slice(1), s.last === null ? 'not finite' : s.last.toPrecision(4), `${s.first === null ? 'not finite' : s.first.toPrecision(4)} at first, ${plural(s.samples, 'update')}`);
  if (summary.source !== 'plan' && summary.source !== 'run' && summary.seconds) figure('Recorded', formatSeconds(summary.seconds), summary.loop.steps ? plural(summary.loop.steps, 'step') : 'from the first event to the last');
  byId('map-hint').textContent = summary.arena_bytes ? `${formatBytes(model.extent)} of addresses; every rectangle is a buffer, from birth to death` : '';
  const notice = (text, bad) => byId('notices').append(make('p', {class: `notice${bad ? ' bad' : ''}`, role: 'status', text}));
  if (summary.cut) notice(summary.cut[0].toUpperCase() + summary.cut.slice(1) + '.', true);
  for (const oom of summary.out_of_memory.slice(-3)) notice(`Out of memory: ${formatBytes(oom.requested_bytes)} were refused${oom.text ? ` (${oom.text})` : ''}.`, true);
  if (summary.loop.leaking) notice(`This loop leaks ${formatBytes(summary.loop.leaked_bytes_per_step)} a step${summary.loop.runs_out_at_step ? `; memory runs out in step ${groupDigits(summary.loop.runs_out_at_step)}` : ''}.`, true);
  if (summary.loop.fragmenting) notice(`This loop fragments: the allocator takes ${formatBytes(summary.loop.footprint_bytes_per_step)} more each step for the same live bytes.`, true);
  const answer = refusal?.explanation;
  if (answer) {
    byId('notices').append(make('section', {class: 'notice answer', id: 'answer', 'aria-label': 'Why, and what to change'}, make('p', {class: 'headline', text: `${answer.headline}.`}),
      make('ul', {class: 'evidence'}, ...answer.evidence.map((e) => make('li', {text: e}))),
      make('ol', {class: 'fixes'}, ...answer.fixes.map((f) => make('li', {}, make('b', {text: f.title}), make('code', {text: f.setting}))))));
  }
  byId('notices').hidden = !byId('notices').childElementCount;
  byId('foot').textContent = `${plural(summary.events, 'event')} of ${plural(summary.tensors, 'tensor')}. Made by Plimsoll ${meta.version}. This file holds all of its data and asks nothing of any server.`;
}

setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
loadData().then((data) => start(new Model(data))).catch((error) => {
  byId('notices').append(make('p', {class: 'notice bad', text: `This page could not be shown: ${error.message}. It needs a browser from 2023 or later.`}));
  throw error;
});
