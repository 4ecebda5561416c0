// A row for each op that takes time on the compute lane.

function opColumns(whole) {
  const columns = [
    {title: 'Op', class: 'name', value: (row) => row.op,
      show: (row) => element('span', {}, kindSwatch(row.kind), ' ', row.op)},
    {title: 'Kind', value: (row) => row.kind.name, show: (row) => row.kind.name},
    {title: 'Runs', number: true, value: (row) => row.runs, show: (row) => `${row.runs}`},
    {title: 'Predicted', number: true, value: (row) => row.ns, show: (row) => timeText(row.ns)},
    {title: 'Share', number: true, value: (row) => row.ns,
      show: (row) => percentText(row.ns, whole)},
  ];
  if (!data.measured) return columns;
  return [...columns,
    {title: 'Measured', number: true, value: (row) => row.measured,
      show: (row) => timeText(row.measured)},
    {title: 'Off by', number: true, value: (row) => row.measured > 0 ? row.ns / row.measured : null,
      show: (row) => signedPercent(row.ns, row.measured)},
  ];
}

function kindSwatch(kind) {
  const swatch = element('i', {class: 'swatch'});
  swatch.style.background = `var(--${kind.color})`;
  return swatch;
}

function makeOps() {
  const measured = new Map(timesByOp(measuredSteps));
  const rows = timesByOp(steps).map(([op, ns]) => ({
    op, ns,
    kind: opKind(op),
    runs: runsOf(steps, op),
    measured: measured.get(op) || 0,
  }));
  const whole = busyNs(steps, 0);
  byId('ops-text').textContent = `${rows.length} ops take ${timeText(whole)} of the compute lane, ` +
      `${percentText(whole, data.step_ns)} of the predicted step.`;
  sortableTable({
    box: byId('ops-table'),
    label: 'Time by op',
    rows,
    sortBy: 3,
    pick: (row) => pickOp(row.op),
    columns: opColumns(whole),
  });
}
