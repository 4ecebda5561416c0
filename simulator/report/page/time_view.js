// The part of the step that the charts show, and the moment under the pointer.
// All charts share both. The data's time is in ns from the beginning of the
// step.

const gutter = 96;  // left of the plots, for names and sizes; CSS pixels

const timeView = {
  full: measuredSteps.reduce((end, step) => Math.max(end, step.end), Math.max(1, data.step_ns)),
  begin: 0,
  end: 1,
  charts: [],

  reset() { this.show(0, this.full); },

  // Shows at least a millionth of the step, and nothing outside it.
  show(begin, end) {
    const length = Math.min(this.full, Math.max(end - begin, this.full * 1e-6));
    this.begin = Math.min(Math.max(0, begin), this.full - length);
    this.end = this.begin + length;
    for (const chart of this.charts) chart.draw();
    this.point(null);
  },

  zoom(factor, at = (this.begin + this.end) / 2) {
    this.show(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  },

  pan(part) {
    const shift = (this.end - this.begin) * part;
    this.show(this.begin + shift, this.end + shift);
  },

  // Draws a line at `ns` into every chart; null removes it.
  point(ns) {
    for (const chart of this.charts) chart.point(ns);
  },
};
timeView.end = timeView.full;

// 1, 2 or 5 times a power of ten, such that about `count` ticks fit into
// `length`.
function tickLength(length, count) {
  const power = 10 ** Math.floor(Math.log10(length / count));
  const fits = [1, 2, 5].find((multiple) => length / (multiple * power) <= count);
  return (fits || 10) * power;
}

// A canvas over the full width of `box`. options: {box, label, height,
// draw(context, plot), tip(ns, y): parts of the tip or null, rowAt(y),
// spans(y): the spans that the arrow keys move along}. plot: {left, width,
// x(ns)}
class TimeChart {
  constructor(options) {
    this.options = options;
    this.canvas = element('canvas', {
      tabindex: '0', role: 'application', 'aria-label': options.label});
    this.cursor = element('div', {class: 'cursor'});
    this.selection = element('div', {class: 'drag'});
    this.cursor.hidden = true;
    this.selection.hidden = true;
    this.dragFrom = null;
    this.focusRow = 0;
    options.box.append(this.canvas, this.cursor, this.selection);
    timeView.charts.push(this);
    this.listen();
  }

  plot() {
    const width = Math.max(60, this.options.box.clientWidth - gutter);
    const scale = width / (timeView.end - timeView.begin);
    return {
      left: gutter,
      width,
      x: (ns) => gutter + (ns - timeView.begin) * scale,
      ns: (x) => timeView.begin + Math.min(width, Math.max(0, x - gutter)) / scale,
    };
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const plot = this.plot();
    const {height} = this.options;
    this.canvas.width = Math.round((plot.left + plot.width) * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.font = '11.5px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'middle';
    this.options.draw(context, plot);
  }

  point(ns) {
    this.cursor.hidden = ns === null || ns < timeView.begin || ns > timeView.end;
    if (!this.cursor.hidden) this.cursor.style.left = `${this.plot().x(ns)}px`;
  }

  // The position of a pointer event.
  at(event) {
    const place = this.canvas.getBoundingClientRect();
    const x = event.clientX - place.left;
    return {x, y: event.clientY - place.top, ns: this.plot().ns(x)};
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerleave', () => {
      tip.hide();
      timeView.point(null);
    });
    canvas.addEventListener('pointerdown', (event) => {
      if (event.pointerType !== 'mouse' || event.button !== 0) return;
      this.dragFrom = this.at(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointerup', (event) => this.drop(event));
    canvas.addEventListener('pointercancel', () => { this.dragFrom = null; });
    canvas.addEventListener('dblclick', () => timeView.reset());
    canvas.addEventListener('wheel', (event) => this.turn(event), {passive: false});
    canvas.addEventListener('keydown', (event) => this.press(event));
    canvas.addEventListener('blur', () => tip.hide());
  }

  move(event) {
    const at = this.at(event);
    timeView.point(at.ns);
    if (this.dragFrom) {
      this.selection.hidden = false;
      this.selection.style.left = `${Math.max(gutter, Math.min(at.x, this.dragFrom.x))}px`;
      this.selection.style.width = `${Math.abs(at.x - this.dragFrom.x)}px`;
    }
    this.tell(at, event.clientX, event.clientY);
  }

  tell(at, x, y) {
    const parts = this.options.tip(at.ns, at.y);
    if (parts) {
      tip.show(x, y, ...parts);
    } else {
      tip.hide();
    }
  }

  drop(event) {
    const from = this.dragFrom;
    this.dragFrom = null;
    this.selection.hidden = true;
    if (!from) return;
    const to = this.at(event);
    if (Math.abs(to.x - from.x) < 5) return;
    timeView.show(Math.min(from.ns, to.ns), Math.max(from.ns, to.ns));
  }

  turn(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      timeView.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.at(event).ns);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      timeView.pan((event.deltaX || event.deltaY) / this.plot().width);
    }
  }

  press(event) {
    const rows = this.options.rows;
    const act = {
      'ArrowRight': () => this.go(1),
      'ArrowLeft': () => this.go(-1),
      'ArrowDown': () => this.changeRow(Math.min(rows.length - 1, this.focusRow + 1)),
      'ArrowUp': () => this.changeRow(Math.max(0, this.focusRow - 1)),
      '+': () => timeView.zoom(0.5, this.focused),
      '=': () => timeView.zoom(0.5, this.focused),
      '-': () => timeView.zoom(2, this.focused),
      '0': () => timeView.reset(),
      'Escape': () => tip.hide(),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  changeRow(row) {
    this.focusRow = row;
    this.go(0);
  }

  // Moves to the next span of the row, or to the previous one.
  go(direction) {
    const row = this.options.rows[this.focusRow];
    if (row.spans.length === 0) return;
    const from = this.focused === undefined ? timeView.begin : this.focused;
    const here = lastNotAfter(row.begins, from);
    const first = this.focused === undefined && direction > 0 ? here : here + direction;
    const span = row.spans[Math.min(row.spans.length - 1, Math.max(0, first))];
    this.focused = span.begin;
    if (span.begin < timeView.begin || span.begin > timeView.end) {
      const half = (timeView.end - timeView.begin) / 2;
      timeView.show(span.begin - half, span.begin + half);
    }
    timeView.point(span.begin);
    const place = this.canvas.getBoundingClientRect();
    const y = this.options.rowY(this.focusRow);
    this.tell({ns: span.begin, y}, place.left + this.plot().x(span.begin), place.top + y);
    byId('spoken').textContent = tip.box.innerText;
  }
}

// Lines at round times over a plot of this height; the times are written below
// it.
function drawTimeAxis(context, plot, height, hasTimes = true) {
  const length = tickLength(timeView.end - timeView.begin, Math.max(2, plot.width / 110));
  context.fillStyle = colorOf('soft');
  context.strokeStyle = colorOf('line');
  context.textAlign = 'center';
  for (let at = Math.ceil(timeView.begin / length) * length; at <= timeView.end; at += length) {
    const x = Math.round(plot.x(at)) + 0.5;
    const below = hasTimes ? 4 : 0;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height + below);
    context.stroke();
    const middle = Math.min(x, plot.left + plot.width - 22);
    if (hasTimes) context.fillText(axisTime(at, length), middle, height + 13);
  }
}

// A moment, with the precision at which the shown part lets one point at it.
const momentText = (ns) => axisTime(ns, (timeView.end - timeView.begin) / 300);

// All ticks in one unit, that of the last one, with enough digits to
// distinguish them.
function axisTime(ns, tick, last = timeView.end) {
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];
  const [size, name] = units.find(([unit]) => last >= unit) || units[3];
  const places = Math.max(0, Math.ceil(-Math.log10(tick / size) - 1e-9));
  return `${(ns / size).toFixed(places)} ${name}`;
}
