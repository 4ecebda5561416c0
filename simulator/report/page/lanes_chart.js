// What runs when: a row for each lane, first predicted, then measured on the
// same time axis. Where the compute lane stalls, the cause is drawn.

const rowHeight = 30;
const headHeight = 20;

// Dark stripes over the steps of clones, in the colour of their ops.
function hatch(context) {
  const size = 8;
  const tile = element('canvas', {width: size, height: size});
  const stripes = tile.getContext('2d');
  stripes.strokeStyle = 'rgb(0 0 0 / 45%)';
  stripes.lineWidth = 2.4;
  for (const shift of [-size, 0, size]) {
    stripes.moveTo(shift - 1, size + 1);
    stripes.lineTo(shift + size + 1, -1);
  }
  stripes.stroke();
  return context.createPattern(tile, 'repeat');
}

class LanesChart {
  constructor(box) {
    this.groups = [this.group('predicted', steps)];
    if (data.measured) this.groups.push(this.group('measured', measuredSteps));
    this.rows = this.groups.flatMap((group) => group.rows);
    this.place();
    this.chart = new TimeChart({
      box,
      label: `Lanes of the ${this.groups.map((group) => group.name).join(' and the ')} step. ` +
          'Left and right arrows move from step to step, up and down from lane to lane.',
      height: this.height + 24,
      rows: this.rows,
      rowY: (index) => this.rows[index].y + rowHeight / 2,
      draw: (context, plot) => this.draw(context, plot),
      tip: (ns, y) => this.tip(ns, y),
    });
  }

  group(name, from) {
    const rows = data.lane_names.map((unused, lane) => laneRow(from, lane, name));
    return {name, rows: rows.filter((row) => row.lane === 0 || row.spans.length > 0)};
  }

  // Sets the y of each row, below its group's name.
  place() {
    let y = 0;
    for (const group of this.groups) {
      group.y = y;
      y += headHeight;
      for (const row of group.rows) {
        row.y = y;
        y += rowHeight;
      }
    }
    this.height = y + 4;
  }

  colorName(span) {
    if (span.lane === 1) return 'out';
    if (span.lane === 2) return 'in';
    return opKind(span.op).color;
  }

  draw(context, plot) {
    drawTimeAxis(context, plot, this.height);
    this.hatch = hatch(context);
    const colors = new Map();
    const color = (name) => {
      if (!colors.has(name)) colors.set(name, colorOf(name));
      return colors.get(name);
    };
    for (const group of this.groups) {
      context.textAlign = 'left';
      context.fillStyle = color('soft');
      context.fillText(group.name, plot.left, group.y + headHeight / 2);
      for (const row of group.rows) this.drawRow(context, plot, row, color);
    }
    // For readers that cannot see the canvas, such as a test.
    this.chart.canvas.dataset.highlighted =
        this.rows.flatMap((row) => row.spans).filter((span) => highlight.has(span)).length;
  }

  drawRow(context, plot, row, color) {
    context.textAlign = 'right';
    context.fillStyle = color('ink');
    context.fillText(data.lane_names[row.lane], plot.left - 10, row.y + rowHeight / 2);
    context.fillStyle = color('faint');
    context.fillRect(plot.left, row.y + 3, plot.width, rowHeight - 6);
    context.save();
    context.beginPath();
    context.rect(plot.left, row.y, plot.width, rowHeight);
    context.clip();
    if (row.lane === 0 && row.process === 'predicted') this.drawStalls(context, plot, row, color);
    context.globalAlpha = highlight.pick ? 0.3 : 1;
    this.drawSpans(context, plot, row, color);
    context.globalAlpha = 1;
    if (highlight.pick) this.drawPicked(context, plot, row, color);
    context.restore();
  }

  drawStalls(context, plot, row, color) {
    for (const stall of stalls) {
      if (stall.end < timeView.begin || stall.begin > timeView.end) continue;
      const x = plot.x(stall.begin);
      context.fillStyle = color('stall');
      context.fillRect(x, row.y + rowHeight / 2 - 2, Math.max(0.5, plot.x(stall.end) - x), 4);
    }
  }

  // Draws spans thinner than a pixel only once per pixel.
  drawSpans(context, plot, row, color) {
    let drawnTo = -1;
    context.textAlign = 'left';
    for (let i = lastNotAfter(row.begins, timeView.begin); i < row.spans.length; ++i) {
      const span = row.spans[i];
      if (span.begin > timeView.end) break;
      const begin = plot.x(span.begin);
      const end = plot.x(span.end);
      if (end < drawnTo) continue;
      const width = Math.max(1, end - begin - (end - begin > 4 ? 1 : 0));
      this.fillSpan(context, row, span, {begin, width}, color);
      drawnTo = begin + width;
      if (width > 46) this.drawName(context, plot, row, span, begin, width);
    }
  }

  fillSpan(context, row, span, {begin, width}, color) {
    context.fillStyle = color(this.colorName(span));
    context.fillRect(begin, row.y + 3, width, rowHeight - 6);
    if (!originalOf.has(span.name)) return;
    context.fillStyle = this.hatch;
    context.fillRect(begin, row.y + 3, width, rowHeight - 6);
  }

  // Also draws spans that are thinner than a pixel.
  drawPicked(context, plot, row, color) {
    for (const span of row.spans) {
      if (!highlight.has(span) || span.end < timeView.begin || span.begin > timeView.end) continue;
      const begin = plot.x(span.begin);
      const width = Math.max(2, plot.x(span.end) - begin);
      this.fillSpan(context, row, span, {begin, width}, color);
      context.strokeStyle = color('ink');
      if (width > 5) context.strokeRect(begin + 0.5, row.y + 3.5, width - 1, rowHeight - 7);
      if (width > 46) this.drawName(context, plot, row, span, begin, width);
    }
  }

  drawName(context, plot, row, span, begin, width) {
    const left = Math.max(begin, plot.left) + 5;
    const room = begin + width - left - 4;
    const letters = Math.floor(room / 6.6);
    if (letters < 8) return;
    context.fillStyle = '#fff';
    context.save();
    context.shadowColor = 'rgb(0 0 0 / 60%)';
    context.shadowBlur = 2;
    context.fillText(shortName(span.name, letters), left, row.y + rowHeight / 2, room);
    context.restore();
  }

  tip(ns, y) {
    const row = this.rows.find((one) => one.y <= y && y < one.y + rowHeight);
    if (!row) return null;
    const span = spanAt(row, ns);
    if (span) return this.spanTip(row, span);
    if (row.lane !== 0 || row.process !== 'predicted') return null;
    const stall = stallAt(ns);
    return stall ? this.stallTip(stall) : null;
  }

  spanTip(row, span) {
    const length = span.end - span.begin;
    const lines = [
      ['op', span.lane === 0 ? `${span.op} (${opKind(span.op).name})` : span.op],
      [row.process, `${timeText(length)}, from ${momentText(span.begin)}`],
    ];
    if (originalOf.has(span.name)) {
      lines.push(['computes again', originalOf.get(span.name)]);
    }
    const twin = this.twinOf(row, span);
    if (twin) lines.push([twin.process, timeText(twin.span.end - twin.span.begin)]);
    if (span.bytes > 0) {
      lines.push(['copied', `${bytesText(span.bytes)} at ${digits(span.bytes / length)} GB/s`]);
    }
    const charged = row.process === 'predicted' ?
        stalls.filter((stall) => stall.copy === span).reduce((sum, stall) => sum + stall.ns, 0) : 0;
    if (charged > 0) lines.push(['compute waits', timeText(charged)]);
    return [element('strong', {}, span.name), tipTable(lines)];
  }

  // The same step in the other row of its lane.
  twinOf(row, span) {
    const other = this.rows.find((one) => one.lane === row.lane && one.process !== row.process);
    if (!other) return null;
    const twin = other.spans.find((one) => one.name === span.name);
    return twin ? {process: other.process, span: twin} : null;
  }

  stallTip(stall) {
    const lines = [['before', stall.step.name], ['for', timeText(stall.ns)]];
    if (stall.copy) lines.push(['until the end of', stall.copy.name]);
    const cause = stallCauses[stall.cause];
    return [element('strong', {}, `Compute waits for ${cause}`), tipTable(lines)];
  }
}

const tipTable = (lines) => element('table', {class: 'pairs'}, ...lines.map(([label, value]) =>
    element('tr', {}, element('td', {class: 'note'}, label), element('td', {}, value))));

function makeLanesChart() {
  const chart = new LanesChart(byId('lanes'));
  const entries = timesByKind(steps)
      .map(([kind, ns]) => [kind.color, `${kind.name} ${timeText(ns)}`]);
  if (originalOf.size > 0) {
    const again = busyNs(steps.filter((step) => originalOf.has(step.name)), 0);
    entries.push(['clone', `computed again ${timeText(again)}`]);
  }
  for (const [lane, color] of [[1, 'out'], [2, 'in']]) {
    const busy = busyNs(steps, lane);
    if (busy > 0) entries.push([color, `${data.lane_names[lane]} ${timeText(busy)}`]);
  }
  if (stalls.length > 0) {
    entries.push(['stall', `compute waits ${timeText(data.stall_ns.reduce((a, b) => a + b, 0))}`]);
  }
  fillLegend(byId('lanes-legend'), entries);
  return chart;
}
