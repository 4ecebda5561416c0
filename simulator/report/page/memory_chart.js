// Memory over time: owned bytes, stacked by kind, with the budget as a line.

const listedInTip = 8;

class MemoryChart {
  constructor(box, onHost) {
    this.onHost = onHost;
    this.space = onHost ? data.host : data.device;
    this.curve = memoryOverTime(onHost);
    this.row = laneRow(steps, 0, 'predicted');
    this.height = onHost ? 110 : 260;
    this.highest = this.totals().reduce((most, bytes) => Math.max(most, bytes), 0);
    const name = onHost ? 'Host' : 'Device';
    this.chart = new TimeChart({
      box,
      label: `${name} memory over time; at most ${bytesText(this.highest)}. ` +
          'Arrow keys move from step to step.',
      height: this.height + (onHost || data.host.arena_bytes === 0 ? 24 : 8),
      rows: [this.row],
      rowY: () => this.height / 2,
      draw: (context, plot) => this.draw(context, plot),
      tip: (ns) => this.tip(ns),
    });
    // A test compares this with the report's peak.
    this.chart.canvas.dataset.peakBytes = this.highest;
  }

  totals() {
    return this.curve.times.map((unused, i) =>
        this.curve.layers.reduce((sum, layer) => sum + layer[i], this.space.resident_bytes));
  }

  // The budget is shown only where it does not squeeze the curve.
  top() {
    const {budget} = this.space;
    const most = Math.max(this.highest, 1);
    return (this.showsBudget() ? Math.max(most, budget) : most) * 1.06;
  }

  showsBudget() {
    const {budget} = this.space;
    return budget !== null && budget <= 2.5 * this.highest;
  }

  colors() {
    return stackedKinds.map((kind) => this.onHost ? 'host' : kind.color);
  }

  draw(context, plot) {
    const top = this.top();
    const y = (bytes) => this.height * (1 - bytes / top);
    this.drawSizes(context, plot, y, top);
    const isLowest = this.onHost || data.host.arena_bytes === 0;
    drawTimeAxis(context, plot, this.height, isLowest);
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, this.height);
    context.clip();
    context.globalAlpha = highlight.pick && highlight.pick.buffers.length > 0 ? 0.3 : 1;
    this.drawLayers(context, plot, y);
    context.globalAlpha = 1;
    this.drawPicked(context, plot, y);
    context.restore();
    if (this.showsBudget()) this.drawBudget(context, plot, y(this.space.budget));
  }

  drawSizes(context, plot, y, top) {
    let tick = 1;
    while (top / tick > this.height / 36) tick *= 2;
    context.textAlign = 'right';
    context.strokeStyle = colorOf('line');
    context.fillStyle = colorOf('soft');
    for (let bytes = 0; bytes <= top; bytes += tick) {
      const at = Math.round(y(bytes)) + (bytes === 0 ? -0.5 : 0.5);
      context.beginPath();
      context.moveTo(plot.left - 4, at);
      context.lineTo(plot.left + plot.width, at);
      context.stroke();
      context.fillText(bytesText(bytes), plot.left - 8, Math.max(7, Math.min(at, this.height - 6)));
    }
    context.save();
    context.translate(9, this.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = 'center';
    context.fillText(this.onHost ? 'host' : 'device', 0, 0);
    context.restore();
  }

  // From the bottom: residents, then the layers.
  drawLayers(context, plot, y) {
    const {times, layers} = this.curve;
    const from = lastNotAfter(times, timeView.begin);
    const to = lastNotAfter(times, timeView.end);
    const right = Math.min(plot.left + plot.width, plot.x(data.step_ns));
    let below = times.map(() => this.space.resident_bytes);
    context.fillStyle = colorOf('variable');
    context.fillRect(plot.left, y(below[0]), right - plot.left, this.height);
    layers.forEach((layer, k) => {
      const above = below.map((bytes, i) => bytes + layer[i]);
      context.beginPath();
      context.moveTo(plot.x(times[from]), y(above[from]));
      for (let i = from; i <= to; ++i) {
        const end = i < to ? plot.x(times[i + 1]) : right;
        context.lineTo(plot.x(times[i]), y(above[i]));
        context.lineTo(end, y(above[i]));
      }
      for (let i = to; i >= from; --i) {
        const end = i < to ? plot.x(times[i + 1]) : right;
        context.lineTo(end, y(below[i]));
        context.lineTo(plot.x(times[i]), y(below[i]));
      }
      context.fillStyle = colorOf(this.colors()[k]);
      context.fill();
      below = above;
    });
  }

  // The bytes of a picked tensor, drawn to scale from the zero line.
  drawPicked(context, plot, y) {
    const picked = highlight.pick ? highlight.pick.buffers
        .filter((buffer) => buffer.isOnHost === this.onHost && buffer.end > buffer.begin) : [];
    context.strokeStyle = colorOf('ink');
    for (const buffer of picked) {
      const begin = plot.x(buffer.begin);
      const width = Math.max(2, plot.x(buffer.end) - begin);
      const height = Math.max(3, this.height - y(buffer.bytes));
      context.fillStyle = colorOf(this.onHost ? 'host' : buffer.kind.color);
      context.fillRect(begin, this.height - height, width, height);
      context.strokeRect(begin + 0.5, this.height - height + 0.5, width - 1, height - 1);
    }
    this.chart.canvas.dataset.highlighted = picked.length;
  }

  drawBudget(context, plot, at) {
    context.strokeStyle = colorOf('bad');
    context.fillStyle = colorOf('bad');
    context.lineWidth = 1.5;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(plot.left, at);
    context.lineTo(plot.left + plot.width, at);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = 'right';
    const text = `budget ${bytesText(this.space.budget)}`;
    const right = plot.left + plot.width - 6;
    const middle = at < 16 ? at + 10 : at - 9;
    const width = context.measureText(text).width + 8;
    context.fillStyle = colorOf('card');
    context.fillRect(right - width + 4, middle - 7, width, 14);
    context.fillStyle = colorOf('bad');
    context.fillText(text, right, middle);
  }

  // What the compute lane does at `ns`.
  activity(ns) {
    const running = spanAt(this.row, ns);
    if (running) return `during ${running.name}`;
    const stall = stallAt(ns);
    return stall ? `compute waits for ${stallCauses[stall.cause]}` : 'nothing to compute';
  }

  tip(ns) {
    const contents = contentsAt(ns, this.onHost);
    const used = this.totals()[lastNotAfter(this.curve.times, ns)];
    const rows = contents.slice(0, listedInTip).map((buffer) => {
      const swatch = element('i', {class: 'swatch'});
      swatch.style.background = `var(--${this.onHost ? 'host' : buffer.kind.color})`;
      return element('tr', {}, element('td', {}, swatch, ' ', nameText(buffer.name)),
          element('td', {}, bytesText(buffer.bytes)));
    });
    const rest = contents.slice(listedInTip);
    if (rest.length > 0) {
      rows.push(element('tr', {}, element('td', {}, `${rest.length} smaller ones`),
          element('td', {}, bytesText(rest.reduce((sum, buffer) => sum + buffer.bytes, 0)))));
    }
    return [
      element('strong', {}, `${bytesText(used)} in use at ${momentText(ns)}`),
      element('div', {class: 'note'}, this.activity(ns)),
      element('table', {class: 'sizes'}, ...rows),
    ];
  }
}

function makeMemoryCharts() {
  const box = byId('memory');
  const entries = [['variable', 'variables and constants'],
    ...stackedKinds.map((kind) => [kind.color, kind.plural])];
  const onDevice = element('div', {class: 'chart'});
  box.append(onDevice);
  const charts = [new MemoryChart(onDevice, false)];
  if (data.host.arena_bytes > 0) {
    const onHost = element('div', {class: 'chart'});
    box.append(onHost);
    charts.push(new MemoryChart(onHost, true));
    entries.push(['host', 'on the host']);
  }
  if (charts.some((chart) => chart.showsBudget())) entries.push(['budget', 'budget']);
  fillLegend(byId('memory-legend'), entries);
}
