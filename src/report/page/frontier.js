// Time against budget: every plan that was found, the chosen one filled.

// A command breaks between its words, not at the dashes within them.
const commandText = (command) => make('code', {}, ...command.split(' ').flatMap((word, i) => [i ? ' ' : '', make('span', {class: 'word', text: word})]));
const frontierPoints = summary.frontier.slice().sort((a, b) => a.budget_bytes - b.budget_bytes);

function buildFrontier(element, first, select) {
  const points = frontierPoints;
  const W = element.clientWidth && element.clientWidth < 640 ? Math.max(320, element.clientWidth) : 760, H = W < 640 ? 280 : 340, left = 64, bottom = 44, top = 30, right = 18;
  const maxX = Math.max(...points.map((p) => p.budget_bytes)) * 1.05, minX = Math.min(...points.map((p) => p.budget_bytes)) * 0.9;
  const maxY = Math.max(...points.map((p) => p.seconds)) * 1.08;
  const x = (b) => left + (b - minX) / (maxX - minX) * (W - left - right), y = (s) => top + (1 - s / maxY) * (H - top - bottom);
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
    if (text) node.textContent = text;
    return node;
  };
  const picture = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'group', 'aria-label': 'Seconds of a step against the memory budget'});
  const stepY = niceStep(maxY / 5, false), stepX = byteStep((maxX - minX) / (W / 120));
  for (let s = 0; s <= maxY; s += stepY) {
    picture.append(svg('line', {class: 'grid-line', x1: left, x2: W - right, y1: y(s), y2: y(s)}), svg('text', {x: left - 8, y: y(s) + 4, 'text-anchor': 'end'}, s === 0 ? '0' : formatSeconds(s)));
  }
  for (let b = Math.ceil(minX / stepX) * stepX; b <= maxX; b += stepX) picture.append(svg('text', {x: x(b), y: H - bottom + 20, 'text-anchor': 'middle'}, axisBytes(b, stepX)));
  picture.append(svg('text', {x: W - right, y: H - 4, 'text-anchor': 'end'}, 'memory budget →'), svg('text', {x: left, y: 14}, 'time of an update'));
  if (summary.budget_bytes >= minX && summary.budget_bytes <= maxX) picture.append(svg('line', {class: 'budget', x1: x(summary.budget_bytes), x2: x(summary.budget_bytes), y1: top, y2: H - bottom}));
  picture.append(svg('path', {class: 'path', d: points.map((p, i) => `${i ? `H${x(p.budget_bytes)}V` : `M${x(p.budget_bytes)} `}${y(p.seconds)}`).join('')}));
  const detail = make('div', {'aria-live': 'polite'}), dots = [];
  const show = (i) => {
    const p = points[i];
    dots.forEach((d, k) => d.setAttribute('aria-pressed', String(k === i)));
    detail.replaceChildren(make('h3', {text: p.chosen ? 'The chosen plan' : 'An alternative'}), make('p', {class: 'verdict', text: p.plan}),
      make('table', {class: 'plain'}, ...[['Budget', `${formatBytes(p.budget_bytes)}`], ['Peak', `${formatBytes(p.peak_bytes)} (${exactBytes(p.peak_bytes)})`], ['Time of an update', formatSeconds(p.seconds)]]
        .map(([k, v]) => make('tr', {}, make('td', {text: k}), make('td', {class: 'right', text: v})))));
    if (p.command) detail.append(make('p', {}, 'Ask for it with ', commandText(p.command)));
    select(p.chosen ? -1 : i, p);
  };
  points.forEach((p, i) => {
    const dot = svg('circle', {class: `dot${p.chosen ? ' chosen' : ''}`, cx: x(p.budget_bytes), cy: y(p.seconds), r: p.chosen ? 8 : 6, tabindex: 0, role: 'button',
      'aria-label': `${formatBytes(p.budget_bytes)}: ${formatSeconds(p.seconds)} a step, ${p.plan}${p.chosen ? ', chosen' : ''}`});
    dot.addEventListener('click', () => show(i));
    dot.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); show(i); } });
    dots.push(dot);
    picture.append(dot);
  });
  element.append(make('div', {class: 'split frontier'}, picture, detail));
  const usual = Math.max(0, points.findIndex((p) => p.chosen)), pick = (i) => show(i >= 0 && i < points.length ? i : usual);
  pick(first);
  return pick;
}
