// What the reader has picked in a table, highlighted in the charts: the bytes
// of a tensor and the steps that write, copy and read it; or all steps of an
// op.
//
// pick: {label, names: the nodes of its steps, buffers, begin, end: ns}

const highlight = {
  pick: null,

  show(pick) {
    this.pick = pick;
    byId('picked-name').textContent = pick.label;
    byId('picked').hidden = false;
    const margin = 0.1 * (pick.end - pick.begin);
    timeView.show(pick.begin - margin, pick.end + margin);
    byId('time').scrollIntoView({block: 'start'});
  },

  clear() {
    this.pick = null;
    byId('picked').hidden = true;
    for (const chart of timeView.charts) chart.draw();
  },

  has(span) { return this.pick !== null && this.pick.names.has(span.name); },
};

// Widens the interval: measured steps may run later than predicted ones.
function pickOf(label, some, buffersOfIt, begin, end) {
  const names = new Set(some.map((step) => step.name));
  const measured = measuredSteps.filter((step) => names.has(step.name));
  return {
    label,
    names,
    buffers: buffersOfIt,
    begin: measured.reduce((first, step) => Math.min(first, step.begin), begin),
    end: measured.reduce((last, step) => Math.max(last, step.end), end),
  };
}

// All buffers of a tensor: its first one, those on the host, the copies back.
function pickTensor(first) {
  const all = buffers.filter((buffer) => buffer.tensor === first.tensor);
  if (first.isResident) return pickOf(first.name, stepsOf(all), all, 0, data.step_ns);
  return pickOf(first.name, stepsOf(all), all,
      all.reduce((begin, buffer) => Math.min(begin, buffer.begin), data.step_ns),
      all.reduce((end, buffer) => Math.max(end, buffer.end), 0));
}

const stepsOf = (some) => some.flatMap((buffer) => buffer.users);

function pickOp(op) {
  const all = [...steps, ...measuredSteps].filter((step) => step.lane === 0 && step.op === op);
  return pickOf(op, all, [], 0, timeView.full);
}
