// Step time over budget: the fastest plan found for each budget, the lower
// bound below it, the plan of this page and policies as points. Drawn as SVG,
// whose colours follow the mode.

const frontierMargin = {left: 58, right: 18, top: 26, bottom: 40};
const frontierHeight = 320;
// Of the frontier's slowest step. Slower policies are at the top of the chart.
const slowestShown = 1.6;

// Round numbers of bytes from `low` to `high`, at least `distance` apart in
// log2: powers of two, and as many steps between each two of them.
function roundSizes(low, high, distance) {
  let parts = 1;
  while (parts < 64 && Math.log2(4 * parts / (4 * parts - 1)) >= distance) parts *= 2;
  const sizes = [];
  const first = 2 ** Math.floor(Math.log2(low));
  for (let power = first; power <= high; power *= 2) {
    for (let part = 0; part < parts; ++part) sizes.push(power * (1 + part / parts));
  }
  return sizes.filter((bytes) => low <= bytes && bytes <= high);
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// dots: [{kind: 'tuned', 'chosen' or 'policy', label, bytes, ns, bound: ns or
// 0, isAtBudget: whether bytes is the budget of the page's plan}]; the tuned
// ones are in descending order of bytes.
class FrontierChart {
  constructor(box, dots, tipOf) {
    this.box = box;
    this.dots = dots;
    this.tipOf = tipOf;
    this.tuned = dots.filter((dot) => dot.kind === 'tuned');
    this.byBytes = [...dots].sort((a, b) => a.bytes - b.bytes);
    this.svg = drawn('svg', {
      class: 'frontier', tabindex: '0', role: 'application',
      'aria-label': `Predicted step time over memory, ${dots.length} points. ` +
          'Left and right arrows move from point to point.'});
    this.ring = drawn('circle', {class: 'ring', r: 8});
    box.append(this.svg);
    this.listen();
  }

  listen() {
    this.svg.addEventListener('pointermove', (event) => {
      const place = this.svg.getBoundingClientRect();
      const at = this.nearest(event.clientX - place.left, event.clientY - place.top);
      this.point(at, event.clientX, event.clientY);
    });
    for (const leave of ['pointerleave', 'blur']) {
      this.svg.addEventListener(leave, () => this.leave());
    }
    this.svg.addEventListener('keydown', (event) => this.press(event));
  }

  leave() {
    tip.hide();
    this.ring.remove();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') this.leave();
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!move) return;
    event.preventDefault();
    const last = this.byBytes.length - 1;
    const at = this.focused ? this.byBytes.indexOf(this.focused) + move : move > 0 ? 0 : last;
    this.focused = this.byBytes[Math.min(last, Math.max(0, at))];
    const place = this.svg.getBoundingClientRect();
    this.point(this.focused, place.left + this.x(this.focused.bytes),
        place.top + this.y(this.focused.ns));
    byId('frontier-spoken').textContent = tip.box.innerText;
  }

  // Points of equal budgets differ in y.
  nearest(x, y) {
    const distance = (dot) => Math.hypot(this.x(dot.bytes) - x, (this.y(dot.ns) - y) / 2);
    return this.dots.reduce((best, dot) => distance(dot) < distance(best) ? dot : best);
  }

  point(dot, x, y) {
    this.ring.setAttribute('cx', this.x(dot.bytes));
    this.ring.setAttribute('cy', this.y(dot.ns));
    this.svg.append(this.ring);
    tip.show(x, y, ...this.tipOf(dot));
  }

  // Sets the scales: log2 of the bytes, and time from a little below the bound.
  scale() {
    const {left, right, top, bottom} = frontierMargin;
    this.width = Math.max(240, this.box.clientWidth);
    this.plot = {left, right: this.width - right, top, bottom: frontierHeight - bottom};
    const logs = this.dots.map((dot) => Math.log2(dot.bytes));
    const low = Math.min(...logs);
    const margin = Math.max(0.03, 0.04 * (Math.max(...logs) - low));
    this.logs = [low - margin, Math.max(...logs) + margin];
    const slowest = Math.max(...this.dots.map((dot) => dot.kind === 'policy' ? 0 : dot.ns));
    const most = Math.max(...this.dots.map((dot) => dot.ns)
        .filter((ns) => ns <= slowestShown * slowest));
    const least = Math.min(...this.dots.map((dot) => Math.min(dot.bound || dot.ns, dot.ns)));
    const room = Math.max(0.08 * (most - least), 0.005 * most);
    this.times = [Math.max(0, least - room), most + room];
  }

  x(bytes) {
    const [low, high] = this.logs;
    return this.plot.left +
        (this.plot.right - this.plot.left) * (Math.log2(bytes) - low) / (high - low);
  }

  y(ns) {
    const [low, high] = this.times;
    const part = (Math.min(ns, high) - low) / (high - low);
    return this.plot.bottom - (this.plot.bottom - this.plot.top) * part;
  }

  add(tag, attributes) {
    const node = drawn(tag, attributes);
    this.svg.append(node);
    return node;
  }

  write(text, attributes) {
    const node = this.add('text', attributes);
    node.textContent = text;
    return node;
  }

  draw() {
    this.scale();
    this.svg.setAttribute('width', this.width);
    this.svg.setAttribute('height', frontierHeight);
    this.svg.replaceChildren();
    this.drawSizes();
    this.drawTimes();
    this.drawLines();
    this.drawDots();
    this.drawLabels();
  }

  drawSizes() {
    const [low, high] = this.logs.map((log) => 2 ** log);
    const units = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'bytes']];
    const [size, unit] = units.find(([bytes]) => high >= bytes) || units[3];
    const apart = 52 * (this.logs[1] - this.logs[0]) / (this.plot.right - this.plot.left);
    for (const bytes of roundSizes(low, high, apart)) {
      const x = Math.round(this.x(bytes)) + 0.5;
      this.add('line', {class: 'grid', x1: x, x2: x, y1: this.plot.top, y2: this.plot.bottom + 4});
      this.write(`${Number((bytes / size).toPrecision(4))}`,
          {x, y: this.plot.bottom + 17, 'text-anchor': 'middle'});
    }
    this.write(`budget, ${unit} (logarithmic)`,
        {x: this.plot.right, y: frontierHeight - 6, 'text-anchor': 'end'});
  }

  drawTimes() {
    const [low, high] = this.times;
    const length = tickLength(high - low, 6);
    for (let ns = Math.ceil(low / length) * length; ns <= high; ns += length) {
      const y = Math.round(this.y(ns)) + 0.5;
      this.add('line', {class: 'grid', x1: this.plot.left - 4, x2: this.plot.right, y1: y, y2: y});
      this.write(axisTime(ns, length, high),
          {x: this.plot.left - 8, y: y + 4, 'text-anchor': 'end'});
    }
    this.write('predicted step time', {x: 4, y: 13});
  }

  drawLines() {
    const path = (dots, timeOf) =>
        dots.map((dot) => `${this.x(dot.bytes).toFixed(1)},${this.y(timeOf(dot)).toFixed(1)}`);
    const steps = path(this.tuned, (dot) => dot.ns);
    if (this.tuned.every((dot) => dot.bound > 0)) {
      const bounds = path(this.tuned, (dot) => dot.bound);
      this.add('polygon', {class: 'gap', points: [...steps, ...[...bounds].reverse()].join(' ')});
      this.add('polyline', {class: 'bound', points: bounds.join(' ')});
    }
    const budget = this.dots.find((dot) => dot.isAtBudget);
    if (budget) {
      const x = this.x(budget.bytes);
      this.add('line', {class: 'budget', x1: x, x2: x, y1: this.plot.top, y2: this.plot.bottom});
    }
    this.add('polyline', {class: 'tuned', points: steps.join(' ')});
  }

  // The page's plan is over the others. A policy that is slower than the chart
  // shows points upwards.
  drawDots() {
    for (const kind of ['tuned', 'policy', 'chosen']) {
      for (const dot of this.dots.filter((one) => one.kind === kind)) {
        const x = this.x(dot.bytes);
        const y = this.y(dot.ns);
        const points = dot.ns > this.times[1] ?
            `${x - 5},${y + 4} ${x},${y - 5} ${x + 5},${y + 4}` :
            `${x - 5},${y} ${x},${y - 5} ${x + 5},${y} ${x},${y + 5}`;
        this.add(kind === 'policy' ? 'polygon' : 'circle', kind === 'policy' ?
            {class: kind, points} : {class: kind, cx: x, cy: y, r: kind === 'tuned' ? 3 : 6});
      }
    }
  }

  // A label has one of six places next to its dot, where it covers nothing; it
  // is left out if there is none, for the tip has it, too.
  drawLabels() {
    const taken = this.dots.map((dot) => this.around(dot));
    const budget = this.dots.find((dot) => dot.isAtBudget);
    if (budget) {
      const x = this.x(budget.bytes);
      taken.push({left: x - 2, right: x + 2, top: 0, bottom: frontierHeight});
    }
    const labelled = this.dots.filter((dot) => dot.kind !== 'tuned');
    for (const dot of labelled.sort((a, b) => (a.kind > b.kind ? 1 : -1))) {
      const text = this.write(dot.label, {class: `label ${dot.kind}`});
      const width = text.getComputedTextLength();
      const place = this.places(dot, width).find((box) => this.isFree(box, taken));
      if (!place) {
        text.remove();
        continue;
      }
      text.setAttribute('x', place.left);
      text.setAttribute('y', place.bottom - 4);
      taken.push(place);
    }
  }

  around(dot) {
    const size = dot.kind === 'tuned' ? 3 : 6;
    const x = this.x(dot.bytes);
    const y = this.y(dot.ns);
    return {left: x - size, right: x + size, top: y - size, bottom: y + size};
  }

  places(dot, width) {
    const {left, right, top, bottom} = this.around(dot);
    const height = 16;
    const middle = (top + bottom - height) / 2;
    return [[right + 3, middle], [left - 3 - width, middle], [right, top - height],
      [left - width, top - height], [right, bottom], [left - width, bottom]]
        .map(([x, y]) => ({left: x, right: x + width, top: y, bottom: y + height}));
  }

  isFree(box, taken) {
    const {left, right, top, bottom} = this.plot;
    return box.left >= left && box.right <= right && box.top >= top - 8 && box.bottom <= bottom &&
        taken.every((other) => !overlap(box, other));
  }
}
