// What to change comes first: for a plan its budgets and their commands, for a run how its loss and its memory went.

// Names differ at both ends: what is too long is left out in the middle.
const elide = (name, most = 26) => (typeof name !== 'string' || name.length <= most ? name : `${name.slice(0, Math.ceil((most - 1) / 2))}…${name.slice(-Math.floor((most - 1) / 2))}`);

const SVG = (tag, attributes, text) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
  if (text) node.textContent = text;
  return node;
};

const chosenPlan = summary.frontier.find((p) => p.chosen);
const fastestPlan = summary.frontier.reduce((best, p) => (!best || p.seconds < best.seconds ? p : best), null);
const slower = (p) => (fastestPlan && p.seconds > fastestPlan.seconds * 1.0005 ? `+${percent(p.seconds / fastestPlan.seconds - 1)}` : 'as fast as it gets');
const curveOf = (name) => summary.series.find((s) => s.name === name && s.curve && s.curve.values.length > 1)?.curve;

// Lines over the updates of a run, with a legend and units; `axis` is said above the vertical one where its numbers do not tell. `lines`: {name, colour, dash, x, y}; a constant has x null.
function drawLines({title, unit, axis, lines, format, from}, W) {
  const H = Math.round(Math.min(270, 130 + W / 4)), left = 62, right = 14, top = axis ? 28 : 12, bottom = 40;
  const moving = lines.filter((l) => l.x), xs = moving.flatMap((l) => l.x), ys = lines.flatMap((l) => l.y);
  const x0 = Math.min(...xs), x1 = Math.max(...xs, x0 + 1), low = from ?? Math.min(...ys), high = Math.max(...ys);
  const y0 = low, y1 = high > low ? high + (high - low) * 0.06 : low + 1;
  const x = (v) => left + (v - x0) / (x1 - x0) * (W - left - right), y = (v) => top + (1 - (v - y0) / (y1 - y0)) * (H - top - bottom);
  const picture = SVG('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `${title} over the updates of the run: ${lines.map((l) => `${l.name} ${format(l.y.at(-1))} at the end`).join(', ')}`});
  const stepY = unit === 'bytes' ? byteStep((y1 - y0) / 4) : niceStep((y1 - y0) / 4, false), stepX = niceStep((x1 - x0) / (W / 110), true);
  for (let v = Math.ceil(y0 / stepY) * stepY; v <= y1; v += stepY)
    picture.append(SVG('line', {class: 'grid-line', x1: left, x2: W - right, y1: y(v), y2: y(v)}), SVG('text', {x: left - 8, y: y(v) + 4, 'text-anchor': 'end'}, unit === 'bytes' ? axisBytes(v, stepY) : `${+v.toPrecision(3)}`));
  for (let v = Math.ceil(x0 / stepX) * stepX; v <= x1; v += stepX) picture.append(SVG('text', {x: x(v), y: H - bottom + 17, 'text-anchor': 'middle'}, groupDigits(v)));
  picture.append(SVG('text', {class: 'unit', x: W - right, y: H - 4, 'text-anchor': 'end'}, 'update'));
  if (axis) picture.append(SVG('text', {class: 'unit', x: 2, y: 11}, axis));
  for (const l of lines) {
    const points = l.x ? l.x.map((v, i) => `${x(v).toFixed(1)} ${y(l.y[i]).toFixed(1)}`) : [`${left} ${y(l.y[0]).toFixed(1)}`, `${W - right} ${y(l.y[0]).toFixed(1)}`];
    picture.append(SVG('path', {class: 'line', d: `M${points.join('L')}`, style: `stroke:var(${l.colour})`, 'stroke-dasharray': l.dash || 'none'}));
    if (l.dots) for (let i = 0; i < l.x.length; i++) picture.append(SVG('circle', {cx: x(l.x[i]), cy: y(l.y[i]), r: 2.6, style: `fill:var(${l.colour})`}));
  }
  const legend = make('ul', {class: 'legend keys', 'aria-label': `Lines of ${title}`}, ...lines.map((l) => make('li', {}, make('span', {class: `swatch${l.dash ? ' dashed' : ''}`, style: `--own:var(${l.colour})`}), l.name, make('small', {text: format(l.y.at(-1))}))));
  return make('section', {class: 'card curve', 'aria-label': title}, make('div', {class: 'bar'}, make('h2', {text: title})), legend, picture);
}

// What the cards of a run show: arguments of drawLines.
function lossCards() {
  const cards = [], loss = curveOf('loss'), validation = curveOf('validation loss'), accuracy = curveOf('validation accuracy');
  const lines = [];
  if (loss) lines.push({name: 'training loss', colour: '--accent', x: loss.updates, y: loss.values});
  if (validation) lines.push({name: 'validation loss', colour: '--gradient', x: validation.updates, y: validation.values, dots: true});
  if (lines.length) cards.push({title: 'Loss', unit: 'number', lines, format: (v) => v.toPrecision(4)});
  if (accuracy) cards.push({title: 'Accuracy of validation, %', unit: 'number', axis: '%', from: 0, format: (v) => `${v.toFixed(1)}%`,
    lines: [{name: 'validation accuracy', colour: '--activation', x: accuracy.updates, y: accuracy.values.map((v) => 100 * v), dots: true}]});
  const scale = curveOf('loss scale');
  if (scale && loss) cards.push({title: 'Scale of the loss', unit: 'number', from: 0, format: (v) => v.toPrecision(4), lines: [{name: 'loss scale', colour: '--workspace', ...stairs(scale, loss.updates.at(-1))}]});
  return cards;
}

// What holds from one change to the next.
function stairs(changes, end) {
  const corners = changes.updates.flatMap((u, i) => (i ? [[u, changes.values[i - 1]], [u, changes.values[i]]] : [[u, changes.values[i]]]));
  corners.push([end, changes.values.at(-1)]);
  return {x: corners.map((c) => c[0]), y: corners.map((c) => c[1])};
}

// A budget that was changed moves its line at that update.
function budgetLine(changes, end) {
  const line = {name: 'budget', colour: '--danger', dash: '2 3', x: null, y: [summary.budget_bytes]};
  return changes ? {...line, ...stairs(changes, end)} : line;
}

// What validation was measured by, each with others of its unit.
function measureCards() {
  const colours = ['--accent', '--gradient', '--activation', '--workspace', '--optimizer', '--data'];
  const groups = [['Measures of validation', ['precision', 'recall', 'F1', 'top-5', 'ROC AUC', 'IoU'], 0, '1 is best'], ['Errors of validation', ['MAE', 'RMSE'], 0, 'in units of the target'], ['R2 of validation', ['R2'], undefined, '1 is best'], ['Perplexity of validation', ['perplexity']]];
  return groups.map(([title, names, from, axis]) => {
    const lines = names.map((name, i) => [name, curveOf(`validation ${name}`), colours[i]]).filter(([, curve]) => curve)
      .map(([name, curve, colour]) => ({name, colour, x: curve.updates, y: curve.values, dots: true}));
    return lines.length ? {title, unit: 'number', axis, lines, from, format: (v) => v.toPrecision(4)} : null;
  });
}

function memoryCard() {
  const resident = curveOf('resident memory'), process = summary.planned_and_measured.find((r) => r.what.startsWith('process'));
  if (!resident) return null;
  const lines = [{name: 'measured', colour: '--activation', x: resident.updates, y: resident.values}];
  if (process) lines.push({name: 'planned, at its highest', colour: '--accent', dash: '6 3', x: null, y: [process.planned_bytes]});
  if (summary.budget_bytes) lines.push(budgetLine(curveOf('budget'), resident.updates.at(-1)));
  return {title: 'Memory of the process', unit: 'bytes', lines, format: formatBytes, from: 0};
}

// Every budget with its cost; the one that is chosen here is a line in the chart below, and its command is shown.
function budgetCard(select) {
  const rows = frontierPoints.slice().reverse(), command = make('p', {class: 'command', 'aria-live': 'polite'}), lines = [];
  const show = (p) => {
    lines.forEach((line, i) => {
      line.classList.toggle('selected', rows[i] === p);
      line.querySelector('button').setAttribute('aria-pressed', String(rows[i] === p));
    });
    command.replaceChildren(p.chosen ? `This ${summary.source === 'plan' ? 'plan' : 'run'} (${p.plan}): ` : `With ${formatBytes(p.budget_bytes)} (${p.plan}): `, ...(p.command ? [commandText(p.command)] : []));
  };
  for (const p of rows) {
    const pick = () => { show(p); select(frontierPoints.indexOf(p)); };
    lines.push(make('tr', {class: p.chosen ? 'chosen' : '', onclick: pick},
      make('td', {class: 'right'}, make('button', {type: 'button', class: 'link', text: formatBytes(p.budget_bytes)})), make('td', {class: 'right', text: formatSeconds(p.seconds)}), make('td', {class: 'right', text: slower(p)}), make('td', {text: p.chosen ? `${p.plan} (chosen)` : p.plan})));
  }
  const head = ['Budget', 'Time of an update', 'Cost in time', 'What it does'].map((t, i) => make('th', {scope: 'col', class: i < 3 ? 'right' : '', text: t}));
  const card = make('section', {class: 'card budgets', 'aria-label': 'Budgets, and what they cost'}, make('div', {class: 'bar'}, make('h2', {text: 'Budgets, and what they cost'}), make('p', {class: 'hint', text: 'expected on this machine; choose a row for its command'})),
    make('div', {class: 'scroll'}, make('table', {class: 'plain'}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...lines))), command);
  show(chosenPlan || rows[0]);
  return {card, show};
}

// Full rows, and pictures drawn at the size that they are shown at, so that their letters are.
function curveCards(curves, room) {
  const most = Math.max(1, Math.min(3, Math.floor(room / 300))), columns = curves.length === 4 && most === 3 ? 2 : Math.min(most, curves.length);
  const padding = 38, gap = 13, width = Math.round((room - gap * (columns - 1)) / columns) - padding;
  return make('div', {class: 'curves', style: `--columns:${columns}`}, ...curves.map((curve) => drawLines(curve, Math.max(240, width))));
}

// Returns what shows another point of the frontier here.
function buildDecisions(element, select) {
  const budgets = summary.frontier.length > 1 ? budgetCard(select) : null;
  const curves = summary.source === 'run' ? [...lossCards(), memoryCard(), ...measureCards()].filter(Boolean) : [];
  if (curves.length) {
    element.hidden = false;
    element.append(curveCards(curves, element.clientWidth));
  }
  if (budgets) element.append(budgets.card);
  element.hidden = !element.childElementCount;
  return (point) => budgets?.show(point);
}
