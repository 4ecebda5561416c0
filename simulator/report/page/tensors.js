// A row for each tensor: its fate, when it is away, the memory that this frees
// and the time that it costs.

// When a tensor is on the device and, in a lighter colour, when it is away.
function lifeBar(tensor) {
  const bar = drawn('svg', {class: 'life', viewBox: '0 0 1000 10', preserveAspectRatio: 'none',
    'aria-hidden': 'true'});
  const add = (begin, end, color, height) => {
    const rect = drawn('rect', {
      x: 1000 * begin / data.step_ns,
      width: Math.max(4, 1000 * (end - begin) / data.step_ns),
      y: (10 - height) / 2, height});
    rect.style.fill = `var(--${color})`;
    bar.append(rect);
  };
  add(0, data.step_ns, 'line', 2);
  let from = tensor.begin;
  const again = tensor.moves ? 'back' : 'again';
  for (const [left, back] of tensor.away) {
    add(from, left, 'tensor', 10);
    if (tensor.moves) add(left, back, 'host', 4);
    from = back;
  }
  add(from, tensor.end, tensor.away.length > 0 ? again : 'tensor', 10);
  return bar;
}

const timesText = (times) => times.length === 0 ?
    element('span', {class: 'zero'}, '-') : times.map(timeText).join(', ');

function freedText(byteSeconds) {
  const sign = byteSeconds < 0 ? '\u2212' : '';
  return `${sign}${digits(Math.abs(byteSeconds) / 2 ** 30 * 1e3)} GiB\u00b7ms`;
}

// A tensor that is computed again may move, too.
function fateTags(tensor) {
  const tags = [];
  if (tensor.moves) tags.push(element('span', {class: 'tag moves'}, 'moves'));
  if (tensor.recomputed) tags.push(element('span', {class: 'tag again'}, 'computed again'));
  if (tags.length === 0) tags.push(element('span', {class: 'tag'}, 'stays'));
  return element('span', {}, ...tags);
}

const tensorColumns = [
  {title: 'Tensor', class: 'name', value: (t) => t.name, show: (t) => nameText(t.name)},
  {title: 'Bytes', number: true, value: (t) => t.bytes, show: (t) => bytesText(t.bytes)},
  {title: 'Fate', value: (t) => t.moves ? 0 : t.recomputed ? 1 : 2, show: fateTags},
  {title: 'Life', value: (t) => t.begin, show: lifeBar},
  {title: 'Leaves', number: true, value: (t) => t.away.length ? t.away[0][0] : null,
    show: (t) => timesText(t.away.map(([left]) => left))},
  {title: 'Is back', number: true, value: (t) => t.away.length ? t.away[0][1] : null,
    show: (t) => timesText(t.away.map(([, back]) => back))},
  {title: 'Copy out', number: true, value: (t) => t.copyOut,
    show: (t) => zeroAsDash(t.copyOut, timeText)},
  {title: 'Copy in', number: true, value: (t) => t.copyIn,
    show: (t) => zeroAsDash(t.copyIn, timeText)},
  {title: 'Again', number: true, value: (t) => t.recompute,
    show: (t) => zeroAsDash(t.recompute, timeText)},
  {title: 'Stall', number: true, value: (t) => t.stall, show: (t) => zeroAsDash(t.stall, timeText)},
  {title: 'Frees', number: true, value: (t) => t.freed,
    show: (t) => zeroAsDash(t.freed, freedText)},
  {title: 'At peak', value: (t) => t.atPeak ? 0 : 1, show: (t) => t.atPeak ? 'yes' : zeroAsDash(0)},
];

// The step's change if the tensor had the fate of this index: "now" for the
// one it has, a dash for one it cannot have, nothing for a tensor whose other
// fates the tuner did not try.
function changeText(tensor, fate) {
  if (tensor.changes === null) return '';
  const ns = tensor.changes[fate];
  if (ns === null) return element('span', {class: 'zero'}, '\u2013');
  const hasIt = [!tensor.moves && !tensor.recomputed, tensor.moves, tensor.recomputed][fate];
  if (ns === 0) return hasIt ? element('span', {class: 'tag now'}, 'now') : '0 ms';
  return `${ns < 0 ? '\u2212' : '+'}${timeText(Math.abs(ns))}`;
}

const changeColumn = (title, fate) => ({
  title, number: true,
  value: (t) => t.changes === null ? null : t.changes[fate],
  show: (t) => changeText(t, fate),
});

// What the tensor's fate costs, and what the others would.
const costColumns = [
  {title: 'Costs', number: true, value: (t) => t.stall + t.recompute,
    show: (t) => zeroAsDash(t.stall + t.recompute, timeText)},
  changeColumn('If kept', 0),
  changeColumn('If swapped', 1),
  changeColumn('If recomputed', 2),
];

function makeTensors() {
  const moving = tensors.filter((tensor) => tensor.moves);
  const sum = (some, field) => some.reduce((total, tensor) => total + tensor[field], 0);
  byId('tensors-text').textContent =
      `${moving.length} of ${tensors.length} tensors move to the host, ` +
      `${bytesText(sum(moving, 'bytes'))} of ${bytesText(sum(tensors, 'bytes'))}; ` +
      `compute waits ${timeText(sum(tensors, 'stall'))} for copies of tensors.`;
  byId('tensors-changes').hidden = !data.has_changes;
  fillLegend(byId('tensors-legend'), [
    ['tensor', 'on the device'], ['host', 'only on the host'], ['back', 'copied back'],
    ['again', 'computed again'],
  ]);
  sortableTable({
    box: byId('tensors-table'),
    label: 'Tensors',
    rows: tensors,
    sortBy: 1,
    pick: (tensor) => pickTensor(tensor.buffer),
    text: (tensor) => tensor.name,
    checks: [
      ['moves', (tensor) => tensor.moves],
      ['computed again', (tensor) => tensor.recomputed],
      ['at the peak', (tensor) => tensor.atPeak],
      ['compute waits for it', (tensor) => tensor.stall > 0],
      ...(data.has_changes ?
        [['other fates tried', (tensor) => tensor.changes !== null]] : []),
    ],
    columns: data.has_changes ?
      [...tensorColumns.slice(0, 3), ...costColumns, ...tensorColumns.slice(3)] : tensorColumns,
  });
}
