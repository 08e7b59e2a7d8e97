// What grows from step to step.

function buildLeaks(element, pinLife) {
  const loop = summary.loop, limit = loop.limit_bytes ? formatBytes(loop.limit_bytes) : '';
  const verdict = make('p', {class: 'verdict'});
  if (loop.steps < 4) verdict.append(loop.steps ? `Only ${plural(loop.steps, 'step')} recorded: four are needed to tell a leak from a warm-up.` : 'No steps were recorded, so growth from step to step cannot be seen.');
  else if (!loop.leaking && !loop.fragmenting) verdict.append(make('b', {text: 'Nothing grows from step to step'}), ` over ${plural(loop.steps, 'step')}.`);
  if (loop.leaking) verdict.append(make('b', {class: 'bad', text: `Leaking ${formatBytes(loop.leaked_bytes_per_step)} a step.`}), ' ');
  if (loop.fragmenting) verdict.append(make('b', {class: 'bad', text: 'Fragmenting: '}), `the allocator takes ${formatBytes(loop.footprint_bytes_per_step)} more each step, now ${formatBytes(loop.footprint_bytes)} for ${formatBytes(loop.live_bytes)} of live buffers. `);
  if (loop.runs_out_at_step) verdict.append(`At this rate ${limit} are used up in step ${groupDigits(loop.runs_out_at_step)}.`);
  else if ((loop.leaking || loop.fragmenting) && !loop.limit_bytes) verdict.append('Give --budget to learn in which step memory runs out.');
  element.append(verdict);
  if (loop.steps_inferred && loop.steps >= 4) element.append(make('p', {class: 'hint', text: `The snapshot does not say where steps begin; ${plural(loop.steps, 'step')} were found by allocations that come back regularly.`}));
  if (!loop.leaks.length) return;
  const rows = loop.leaks.map((leak) => make('tr', {'data-row': leak.life, tabindex: 0, onclick: () => pinLife(leak.life), onkeydown: (e) => { if (e.key === 'Enter') pinLife(leak.life); }},
    make('td', {}, make('b', {text: leak.name || 'unnamed'}), ...(leak.stack || [leak.layer]).filter(Boolean).slice(0, 4).map((f) => make('div', {class: 'hint', text: f}))),
    make('td', {class: 'right', text: formatBytes(leak.bytes_per_step)}), make('td', {class: 'right', text: leak.buffers_per_step.toFixed(2)}),
    make('td', {class: 'right', text: groupDigits(leak.held_buffers)}), make('td', {class: 'right', text: formatBytes(leak.held_bytes)})));
  element.append(make('div', {class: 'scroll'}, make('table', {class: 'plain stacked'}, make('thead', {}, make('tr', {}, ...[['Where', ''], ['Bytes a step', 'right'], ['Buffers a step', 'right'], ['Held now', 'right'], ['Bytes held', 'right']].map(([t, c]) => make('th', {scope: 'col', class: c, text: t})))),
    make('tbody', {}, ...rows))));
}
