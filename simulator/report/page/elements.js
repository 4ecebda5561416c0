// DOM elements, and numbers as text. Names from the report only ever become
// text nodes.

const byId = (id) => document.getElementById(id);

// element('td', {class: 'name'}, 'text', child): skips null children.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function drawn(tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  return node;
}

// A name with optional line breaks after its scopes.
function nameText(name) {
  const scopes = name.split(/(?<=\/)/);
  return element('span', {}, ...scopes.flatMap(
      (scope, index) => index === 0 ? [scope] : [element('wbr'), scope]));
}

// Keeps the end of a name, which tells more than its scopes.
const shortName = (name, letters) =>
    name.length <= letters ? name : `\u2026${name.slice(1 - Math.max(8, letters))}`;

// "7", "42.3", "1.21": three significant digits, or all digits before the
// point.
const digits = (value) => {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
};

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return unit === 0 ? `${value} B` : `${digits(value)} ${units[unit]}`;
}

function timeText(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${digits(ns / 1e3)} \u00b5s`;
  if (size < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

const percentText = (part, whole) =>
    whole > 0 ? `${digits(100 * part / whole)} %` : '-';

const colorOf = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

// Entries of a legend that are drawn by a class of their own (page.css).
const drawnByClass = new Map([['budget', 'dash'], ['clone', 'hatch']]);

// A line of coloured squares with their meaning. entries: [[colour's name,
// text]].
function fillLegend(box, entries) {
  box.replaceChildren(...entries.map(([color, text]) => {
    const swatch = element('i', {class: `swatch ${drawnByClass.get(color) || ''}`});
    if (!drawnByClass.has(color)) swatch.style.background = `var(--${color})`;
    return element('span', {}, swatch, text);
  }));
}

const tip = {
  box: byId('tip'),
  // Shows it next to the pointer and inside the window.
  show(x, y, ...content) {
    this.box.replaceChildren(...content.filter((part) => part !== null));
    this.box.hidden = false;
    const size = this.box.getBoundingClientRect();
    const left = x + 16 + size.width > innerWidth ? x - 16 - size.width : x + 16;
    const top = Math.min(y + 16, innerHeight - size.height - 8);
    this.box.style.left = `${Math.max(8, left)}px`;
    this.box.style.top = `${Math.max(8, top)}px`;
  },
  hide() { this.box.hidden = true; },
};
