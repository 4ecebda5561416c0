// Time over memory: what the tuner found for each budget, as a chart and as a
// table.

const tunedDots = data.frontier.map(([bytes, ns, bound, device, name]) =>
    ({kind: 'tuned', label: name, bytes, ns, bound, device}));
const withoutBudget = tunedDots[0];

// At its budget, unless there is none or the chart would become much wider;
// then at its own bytes.
function chosenDot() {
  const {budget, arena_bytes: device} = data.device;
  const isAtBudget = budget !== null && budget <= 1.25 * withoutBudget.bytes;
  return {
    kind: 'chosen', label: 'this plan', bytes: isAtBudget ? budget : device, ns: data.step_ns,
    bound: data.bound ? data.bound[0] : 0, device, isAtBudget};
}

function frontierDots() {
  const policies = data.policies.map(([label, bytes, ns]) =>
      ({kind: 'policy', label, bytes, ns, bound: 0, device: bytes}));
  return [...tunedDots, ...policies, chosenDot()];
}

// The speed of a step as a part of that without a budget.
const keptSpeed = (dot) => percentText(withoutBudget.ns, dot.ns);
const gapText = (dot) => dot.bound > 0 ? percentText(dot.ns - dot.bound, dot.bound) : '-';

function frontierTip(dot) {
  const lines = [
    [dot.kind === 'policy' ? 'memory' : 'budget', bytesText(dot.bytes)],
    ['of the peak', percentText(dot.bytes, withoutBudget.bytes)],
    ['step', timeText(dot.ns)],
    ['speed', `${keptSpeed(dot)} of that without a budget`],
  ];
  if (dot.kind !== 'policy') lines.splice(2, 0, ['device memory', bytesText(dot.device)]);
  if (dot.bound > 0) lines.push(['lower bound', timeText(dot.bound)], ['gap', gapText(dot)]);
  const tuned = tunedDots.find((one) => one.bytes <= dot.bytes);
  if (dot.kind === 'policy' && tuned) {
    lines.push(['tuned', `${timeText(tuned.ns)} in ${bytesText(tuned.bytes)}`]);
  }
  return [element('strong', {}, dot.label), tipTable(lines)];
}

const frontierColumns = [
  {title: 'Plan', class: 'name', value: (dot) => dot.label,
    show: (dot) => element('span', {}, dot.label,
        dot.kind === 'policy' ? element('span', {class: 'note'}, ' (policy)') : '')},
  {title: 'Budget', number: true, value: (dot) => dot.bytes,
    show: (dot) => dot.kind === 'policy' ? '-' : bytesText(dot.bytes)},
  {title: 'Of the peak', number: true, value: (dot) => dot.bytes,
    show: (dot) => percentText(dot.bytes, withoutBudget.bytes)},
  {title: 'Device', number: true, value: (dot) => dot.device, show: (dot) => bytesText(dot.device)},
  {title: 'Step', number: true, value: (dot) => dot.ns, show: (dot) => timeText(dot.ns)},
  {title: 'Speed kept', number: true, value: (dot) => 1 / dot.ns, show: keptSpeed},
  {title: 'Lower bound', number: true, value: (dot) => dot.bound || null,
    show: (dot) => zeroAsDash(dot.bound, timeText)},
  {title: 'Gap', number: true, value: (dot) => dot.bound > 0 ? dot.ns / dot.bound : null,
    show: gapText},
];

function frontierText() {
  const last = tunedDots[tunedDots.length - 1];
  const end = data.frontier_interrupted ? ' The tuner was stopped before it tried smaller ones.' : '';
  return `Without a budget the step takes ${bytesText(withoutBudget.bytes)} and ` +
      `${timeText(withoutBudget.ns)}. In ${bytesText(last.bytes)}, ` +
      `${percentText(last.bytes, withoutBudget.bytes)} of that, it keeps ${keptSpeed(last)} of ` +
      `its speed.${end}`;
}

// Returns the chart; null without a frontier.
function makeFrontier() {
  if (tunedDots.length === 0) return null;
  byId('frontier').hidden = false;
  byId('frontier-text').textContent = frontierText();
  const dots = frontierDots();
  const entries = [['ink', 'fastest plan found'], ['good', 'lower bound'], ['accent', 'this plan']];
  if (data.policies.length > 0) entries.push(['soft', 'policies']);
  if (dots.some((dot) => dot.isAtBudget)) entries.push(['budget', 'budget']);
  fillLegend(byId('frontier-legend'), entries);
  sortableTable({
    box: byId('frontier-table'),
    label: 'Time over memory',
    rows: dots,
    sortBy: 1,
    rowClass: (dot) => dot.kind === 'chosen' ? 'chosen' : '',
    columns: frontierColumns,
  });
  return new FrontierChart(byId('frontier-chart'), dots, frontierTip);
}
