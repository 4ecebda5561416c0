// The report's data as objects (report_data.h describes the rows), and queries
// of it.

const kinds = [
  {name: 'variable', plural: 'variables', color: 'variable'},
  {name: 'constant', plural: 'constants', color: 'constant'},
  {name: 'tensor that stays', plural: 'tensors that stay', color: 'tensor'},
  {name: 'copied back', plural: 'copied back from the host', color: 'back'},
  {name: 'scratch', plural: 'scratch of kernels', color: 'scratch'},
  {name: 'tensor that moves', plural: 'tensors that move, not gone yet', color: 'moving'},
  {name: 'computed again', plural: 'computed again', color: 'again'},
];
const firstTransientKind = 2;
const movingKind = kinds[5];
// Over residents.
const stackedKinds = [kinds[2], movingKind, kinds[3], kinds[6], kinds[4]];
const stallCauses = ['copies in', 'copies out', 'the host\u2019s calls'];
const stallColors = ['in', 'out', 'host-call'];

const data = JSON.parse(byId('data').textContent);

const toStep = ([lane, name, op, begin, end, bytes], id) =>
    ({id, lane, name, op, begin, end, bytes});
const steps = data.steps.map(toStep);
// Names of clones, each with the node whose values it computes again.
const originalOf = new Map(data.clones.map(([step, name]) => [steps[step].name, name]));
const measuredSteps = data.measured ? data.measured.steps.map(toStep) : [];
const stalls = data.stalls.map(([step, cause, copy, ns]) => ({
  cause,
  ns,
  step: steps[step],
  copy: copy < 0 ? null : steps[copy],
  begin: steps[step].begin - ns,
  end: steps[step].begin,
}));
const buffers = data.buffers.map(
    ([name, kind, onHost, bytes, begin, end, tensor, users]) => {
      const isResident = kind < firstTransientKind;
      const within = isResident ? [] : users.map((id) => steps[id]);
      return {
        name, bytes, begin, end, tensor, isResident,
        kind: kinds[kind],
        isOnHost: onHost === 1,
        users: users.map((id) => steps[id]),
        first: within.length > 0 ? within[0] : null,
        last: within.length > 0 ? within[within.length - 1] : null,
      };
    });
const tensors = data.tensors.map(
    ([buffer, bytes, moves, begin, end, away, copyOut, copyIn, stall, freed, atPeak,
      recomputed, recompute, changes]) => ({
      name: buffers[buffer].name,
      buffer: buffers[buffer],
      moves: moves === 1,
      atPeak: atPeak === 1,
      recomputed: recomputed === 1,
      bytes, begin, end, away, copyOut, copyIn, stall, freed, recompute, changes,
    }));

for (const [buffer, , moves] of data.tensors) {
  if (moves === 1) buffers[buffer].kind = movingKind;
}

// Residents own their bytes for the whole step.
const livesAt = (buffer, ns) =>
    buffer.isResident || (buffer.begin <= ns && ns < buffer.end);

// The contents of a memory space at `ns`, largest first.
function contentsAt(ns, onHost) {
  return buffers
      .filter((buffer) => buffer.isOnHost === onHost && livesAt(buffer, ns))
      .sort((a, b) => b.bytes - a.bytes);
}

// Bytes of each of stackedKinds over time, as {times, layers}: layers[k][i]
// holds from times[i] to times[i + 1]. Summed from the buffers, not copied from
// the report, so that the two can be compared.
function memoryOverTime(onHost) {
  const changes = [];
  for (const buffer of buffers) {
    if (buffer.isResident || buffer.isOnHost !== onHost) continue;
    if (buffer.end <= buffer.begin) continue;
    const kind = stackedKinds.indexOf(buffer.kind);
    changes.push([buffer.begin, kind, buffer.bytes], [buffer.end, kind, -buffer.bytes]);
  }
  changes.sort((a, b) => a[0] - b[0]);
  const times = [0];
  const now = stackedKinds.map(() => 0);
  const layers = stackedKinds.map(() => [0]);
  for (const [ns, kind, bytes] of changes) {
    if (ns > times[times.length - 1]) {
      times.push(ns);
      layers.forEach((layer, k) => layer.push(now[k]));
    }
    now[kind] += bytes;
    layers[kind][times.length - 1] = now[kind];
  }
  return {times, layers};
}

// The last index with sorted[index] <= value; 0 if there is no such index.
function lastNotAfter(sorted, value) {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sorted[middle] <= value) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// One row of a lane: its steps that take time, in order.
function laneRow(from, lane, process) {
  const spans = from.filter((step) => step.lane === lane && step.end > step.begin);
  spans.sort((a, b) => a.begin - b.begin);
  return {lane, process, spans, begins: spans.map((span) => span.begin)};
}

// The span of a row that runs at `ns`, or null.
function spanAt(row, ns) {
  const span = row.spans[lastNotAfter(row.begins, ns)];
  return span && span.begin <= ns && ns < span.end ? span : null;
}

const stallAt = (ns) => stalls.find((stall) => stall.begin <= ns && ns < stall.end);

function busyNs(from, lane) {
  let busy = 0;
  for (const step of from) {
    if (step.lane === lane) busy += step.end - step.begin;
  }
  return busy;
}

// [[op, ns of the compute lane]], longest first.
function timesByOp(from) {
  const times = new Map();
  for (const step of from) {
    if (step.lane !== 0 || step.end <= step.begin) continue;
    times.set(step.op, (times.get(step.op) || 0) + step.end - step.begin);
  }
  return [...times].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// The number of steps of an op that take time.
function runsOf(from, op) {
  return from.reduce((runs, step) =>
      runs + (step.lane === 0 && step.op === op && step.end > step.begin ? 1 : 0), 0);
}

const copiedBytes = (lane) =>
    steps.reduce((sum, step) => sum + (step.lane === lane ? step.bytes : 0), 0);
