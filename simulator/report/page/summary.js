// The head of the page: facts and key figures, predicted next to measured
// values, and the options that a tuner tried.

function makeFacts() {
  byId('facts').append(...data.facts.map(([label, value]) =>
      element('div', {}, element('dt', {}, label), element('dd', {}, value))));
}

// parts: [[fraction of the bar, colour]]
function figure(label, value, detail, parts = []) {
  const box = element('div', {class: 'figure'}, element('div', {class: 'label'}, label),
      element('div', {class: 'value'}, value));
  if (parts.length > 0) {
    box.append(element('div', {class: 'meter', 'aria-hidden': 'true'}, ...parts.map(
        ([share, color]) => {
          const part = element('span');
          part.style.cssText = `width:${Math.min(100, 100 * share)}%;background:var(--${color})`;
          return part;
        })));
  }
  box.append(element('div', {class: 'detail'}, detail));
  return box;
}

function memoryFigure(label, space, color) {
  const {arena_bytes: bytes, budget} = space;
  if (budget === null) return figure(label, bytesText(bytes), 'no budget');
  const fits = bytes <= budget;
  return figure(label, bytesText(bytes),
      fits ? `${percentText(bytes, budget)} of the budget, ${bytesText(budget)}` :
          `does not fit the budget, ${bytesText(budget)}`,
      [[bytes / budget, fits ? color : 'bad']]);
}

function makeFigures() {
  const step = data.step_ns;
  const stalled = data.stall_ns.reduce((a, b) => a + b, 0);
  const speed = (ns) => data.batch_size > 0 ? `${digits(data.batch_size * 1e9 / ns)} images/s` : '';
  const figures = [
    figure('Step, predicted', timeText(step), speed(step)),
    memoryFigure('Device memory', data.device, 'tensor'),
    memoryFigure('Host memory', data.host, 'host'),
    figure('Copied out', bytesText(copiedBytes(1)), `in ${bytesText(copiedBytes(2))}, feeds too`),
    figure('Compute waits', timeText(stalled),
        data.stall_ns.map((ns, cause) => `${stallCauses[cause]} ${timeText(ns)}`).join(', '),
        data.stall_ns.map((ns, cause) => [ns / step, stallColors[cause]])),
  ];
  if (data.measured) {
    const measured = data.measured.step_ns;
    figures.splice(1, 0, figure('Step, measured', timeText(measured),
        [speed(measured), `prediction: ${signedPercent(step, measured)}`]
            .filter((text) => text).join('; ')));
  }
  if (data.bound) {
    const [ns, reason] = data.bound;
    figures.push(figure('Lower bound', timeText(ns),
        `by ${reason}; the step takes ${percentText(step - ns, ns)} more`,
        [[ns / step, 'good']]));
  }
  byId('figures').append(...figures);
}

// "+3.1 %": the relative error of a prediction.
function signedPercent(predicted, measured) {
  if (predicted === measured) return 'exact';
  if (measured <= 0) return '-';
  const part = 100 * (predicted / measured - 1);
  return `${part < 0 ? '\u2212' : '+'}${digits(Math.abs(part))} %`;
}

// Rows: [label, predicted, measured]; the last column shows their difference.
function comparisonTable(label, rows, text) {
  const head = ['', 'predicted', 'measured', 'off by'].map((title, index) =>
      element('th', {scope: 'col', class: index ? 'number' : ''}, title));
  return element('table', {class: 'plain', 'aria-label': label},
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows.map(([name, predicted, measured, show]) =>
          element('tr', {}, element('th', {scope: 'row'}, name),
              element('td', {class: 'number'}, (show || text)(predicted)),
              element('td', {class: 'number'}, (show || text)(measured)),
              element('td', {class: 'number'}, signedPercent(predicted, measured))))));
}

function makeComparison() {
  if (!data.measured) return;
  byId('comparison').hidden = false;
  const last = (from) => from.reduce((end, step) => Math.max(end, step.end), 0);
  const rows = [
    ['step, median', data.step_ns, data.measured.step_ns],
    ['step drawn here', last(steps), last(measuredSteps)],
    ...data.lane_names.map((name, lane) =>
        [`${name} busy`, busyNs(steps, lane), busyNs(measuredSteps, lane)]),
    ['device memory', data.device.arena_bytes, data.measured.device_bytes, bytesText],
    ['host memory', data.host.arena_bytes, data.measured.host_bytes, bytesText],
  ];
  byId('comparison-table').append(comparisonTable('Step', rows, timeText));
}

function makeTried() {
  if (data.tried.length === 0) return;
  byId('tried').hidden = false;
  const rows = data.tried.map(([label, fits, device, host, ns, note], index) =>
      ({label, device, host, ns, note, fits: fits === 1, isChosen: index === data.chosen}));
  sortableTable({
    box: byId('tried-table'),
    label: 'Options that were tried',
    rows,
    sortBy: 4,
    ascending: true,
    text: (row) => `${row.label} ${row.note}`,
    rowClass: (row) => row.isChosen ? 'chosen' : '',
    columns: [
      {title: 'Options', class: 'name', value: (row) => row.label,
        show: (row) => element('span', {}, row.label,
            row.isChosen ? element('strong', {}, ' (chosen)') : '')},
      {title: 'Fits', value: (row) => row.fits ? 0 : 1,
        show: (row) => row.fits ? element('span', {class: 'tag yes'}, 'yes') :
            element('span', {class: 'tag no'}, 'no')},
      {title: 'Device', number: true, value: (row) => row.device,
        show: (row) => bytesText(row.device)},
      {title: 'Host', number: true, value: (row) => row.host, show: (row) => bytesText(row.host)},
      {title: 'Step', number: true, value: (row) => row.ns,
        show: (row) => row.ns === null ? '-' : timeText(row.ns)},
      {title: 'Note', class: 'name', value: (row) => row.note, show: (row) => row.note},
    ],
  });
}
