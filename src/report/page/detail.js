// The panel beside the charts: the largest holders at the cursor or the peak, or all about what is pinned.

function buildDetail(element, model, state, pin) {
  const holders = (tick) => {
    const list = model.holdersAt(tick, 10), total = model.totals[tick] || 0;
    const title = summary.refusal && tick === model.moment ? 'At the refusal' : tick === model.peakTick ? 'At the peak' : `At event ${groupDigits(tick)}`;
    const place = model.place(tick);
    const head = make('div', {}, make('h2', {id: 'detail-title', text: title}), make('p', {class: 'sub', text: place}),
      make('p', {class: 'big', text: formatBytes(total), title: exactBytes(total)}), make('p', {class: 'sub', text: exactBytes(total)}));
    const most = list.length ? list[0].bytes : 1;
    const items = list.map(({life, count, bytes}) => {
      const tensor = model.owner[life], colour = css(tensorColour(model, tensor)), times = count > 1 ? ` × ${count}` : '';
      return make('li', {}, make('button', {type: 'button', title: model.tensorName(tensor) + times, onclick: () => pin(tensor, life)},
        make('span', {class: 'n', text: elide(model.tensorName(tensor))}), make('span', {text: formatBytes(bytes) + (count > 1 ? ` in ${groupDigits(count)}` : '')}),
        make('span', {class: 'track'}, make('span', {class: 'fill', style: `display:block;width:${100 * bytes / most}%;background:${colour}`}))));
    });
    return [head, make('h3', {text: items.length ? 'Largest holders' : ''}), make('ol', {class: 'holders'}, ...items)];
  };

  const pinned = (tensor) => {
    const lives = state.livesOf(tensor), life = state.life >= 0 && model.owner[state.life] === tensor ? state.life : lives[0], t = model.tensor;
    const atPeak = lives.reduce((sum, i) => sum + (model.born[i] <= model.peakTick && model.peakTick < model.died[i] ? model.size[i] : 0), 0);
    const rows = [['Kind', make('span', {class: 'kind'}, make('span', {class: 'swatch', style: `background:${kindColour(t.kind[tensor])}`}), KIND_TITLES[t.kind[tensor]])],
      ['Shape', [model.texts[t.shape[tensor]].replaceAll('x', ' × '), DTYPES[t.dtype[tensor]]].filter(Boolean).join(', ')], ['Layer', model.texts[t.layer[tensor]]],
      ['Operator', model.texts[t.operation[tensor]]], ['Phase', PHASES[t.phase[tensor]]], ['At the peak', atPeak ? `${formatBytes(atPeak)}, ${percent(atPeak / model.peak)}` : 'not there'],
      ['Address', model.offset[life] >= 0 ? `${groupDigits(model.offset[life])} to ${groupDigits(model.offset[life] + model.size[life])}` : ''],
      ['Lives', `event ${groupDigits(model.born[life])} to ${model.died[life] === NEVER ? 'the end' : groupDigits(model.died[life])}`],
      ['Born in', model.place(model.born[life])], ['Times', lives.length > 1 ? plural(lives.length, 'life').replace('lifes', 'lives') : '']];
    const list = make('dl', {});
    for (const [key, value] of rows) if (value) list.append(make('dt', {text: key}), make('dd', {}, value));
    const frames = model.frames(model.stackOf[life]);
    return [make('div', {class: 'head'}, make('h2', {id: 'detail-title', text: model.tensorName(tensor)}), make('button', {class: 'link', type: 'button', id: 'unpin', text: 'Unpin', title: 'Unpin (Esc)', onclick: () => pin(null)})),
      make('div', {}, make('p', {class: 'big', text: formatBytes(model.size[life])}), make('p', {class: 'sub', text: exactBytes(model.size[life])})), list,
      frames.length ? make('h3', {text: 'Allocated by'}) : null, frames.length ? make('ol', {class: 'stack'}, ...frames.map((f) => make('li', {text: f}))) : null].filter(Boolean);
  };

  return () => {
    const inside = element.contains(document.activeElement);
    if (!model.count) element.replaceChildren(make('h2', {id: 'detail-title', text: 'Nothing was recorded'}));
    else element.replaceChildren(...(state.pin != null ? pinned(state.pin) : holders(state.marker ?? model.moment)));
    if (inside) element.querySelector('button')?.focus({preventScroll: true}); // the button that was used is gone
  };
}
