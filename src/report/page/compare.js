// Planned against measured.

function buildCompare(element) {
  const rows = summary.planned_and_measured, most = Math.max(1, ...rows.map((r) => Math.max(r.planned_bytes, r.measured_bytes)));
  const bar = (bytes, colour) => make('div', {class: 'meter', style: 'height:9px;margin:.2rem 0'}, make('span', {style: `width:${100 * bytes / most}%;background:${colour}`}));
  const body = rows.map((r) => {
    const off = r.planned_bytes ? (r.measured_bytes - r.planned_bytes) / r.planned_bytes : 0;
    return make('tr', {}, make('td', {}, make('b', {text: r.what}), bar(r.planned_bytes, 'var(--accent)'), bar(r.measured_bytes, 'var(--activation)')),
      make('td', {class: 'right', text: groupDigits(r.planned_bytes)}), make('td', {class: 'right', text: groupDigits(r.measured_bytes)}),
      make('td', {class: `right${Math.abs(off) > 0.02 ? ' bad' : ''}`, text: r.planned_bytes === r.measured_bytes ? 'equal, to the byte' : `${off > 0 ? '+' : '−'}${(100 * Math.abs(off)).toFixed(2)}%`}));
  });
  element.append(make('div', {class: 'scroll'}, make('table', {class: 'plain stacked'},
    make('thead', {}, make('tr', {}, make('th', {scope: 'col', text: 'What'}), make('th', {scope: 'col', class: 'right', text: 'Planned, bytes'}), make('th', {scope: 'col', class: 'right', text: 'Measured, bytes'}), make('th', {scope: 'col', class: 'right', text: 'Difference'}))),
    make('tbody', {}, ...body))));
  if (meta.layout.series.length) element.append(make('p', {class: 'hint', style: 'margin-top:.8rem', text: `${meta.layout.series.length > 1 ? 'Lines in the chart above are' : 'The line in the chart above is'} ${meta.layout.series.map((s) => `“${s.name}”`).join(', ')}.`}));
}
