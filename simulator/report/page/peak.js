// The contents of the device at the memory peak: shares by kind, a treemap
// whose areas are bytes, and a table of all buffers.

const mostTiles = 150;

// Squarified treemap: rows whose tiles are as square as possible. Source:
// Bruls, Huizing, van Wijk, "Squarified treemaps" (2000). Calls place(item, x,
// y, width, height) for items sorted by bytes, largest first.
function squarify(items, width, height, place) {
  const area = items.reduce((sum, item) => sum + item.bytes, 0);
  const scale = width * height / area;
  let rest = {x: 0, y: 0, width, height};
  let row = [];
  const worst = (some, side) => {
    const sum = some.reduce((total, item) => total + item.bytes * scale, 0);
    const largest = some[0].bytes * scale;
    const smallest = some[some.length - 1].bytes * scale;
    return Math.max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest));
  };
  const layRow = () => {
    const sum = row.reduce((total, item) => total + item.bytes * scale, 0);
    const isTall = rest.width >= rest.height;  // a column at the left
    const thickness = sum / (isTall ? rest.height : rest.width);
    let along = 0;
    for (const item of row) {
      const length = item.bytes * scale / thickness;
      if (isTall) {
        place(item, rest.x, rest.y + along, thickness, length);
      } else {
        place(item, rest.x + along, rest.y, length, thickness);
      }
      along += length;
    }
    rest = isTall ?
        {...rest, x: rest.x + thickness, width: rest.width - thickness} :
        {...rest, y: rest.y + thickness, height: rest.height - thickness};
    row = [];
  };
  for (const item of items) {
    const side = Math.min(rest.width, rest.height);
    if (row.length > 0 && worst([...row, item], side) > worst(row, side)) layRow();
    row.push(item);
  }
  if (row.length > 0) layRow();
}

function untilText(buffer) {
  if (buffer.isResident) return 'outlives the step';
  return buffer.last ? `${timeText(buffer.end)}, ${buffer.last.name}` : timeText(buffer.end);
}

function bufferTip(buffer, whole) {
  return [element('strong', {}, buffer.name), tipTable([
    ['kind', buffer.kind.name],
    ['bytes', `${bytesText(buffer.bytes)}, ${percentText(buffer.bytes, whole)}`],
    ['since', buffer.first ? `${timeText(buffer.begin)}, ${buffer.first.name}` : 'before the step'],
    ['until', untilText(buffer)],
  ])];
}

function makeTreemap(box, contents, whole) {
  const width = box.clientWidth || 1000;
  const height = box.clientHeight || 320;
  const tiles = contents.filter((buffer) => buffer.bytes > 0).slice(0, mostTiles);
  squarify(tiles, width, height, (buffer, x, y, w, h) => {
    const tile = element('div', {class: 'tile'});
    tile.style.cssText = `left:${100 * x / width}%;top:${100 * y / height}%;` +
        `width:${100 * w / width}%;height:${100 * h / height}%;` +
        `background:var(--${buffer.kind.color})`;
    if (w > 70 && h > 52) {
      const letters = Math.floor((w - 12) / 6.5) * Math.floor((h - 24) / 15);
      const name = shortName(buffer.name, letters);
      tile.append(nameText(name), element('br'), bytesText(buffer.bytes));
    } else {
      tile.style.padding = 0;  // no wider than its bytes
    }
    tile.addEventListener('pointermove', (event) =>
        tip.show(event.clientX, event.clientY, ...bufferTip(buffer, whole)));
    tile.addEventListener('pointerleave', () => tip.hide());
    tile.addEventListener('click', () => highlight.show(pickTensor(buffer)));
    box.append(tile);
  });
  return tiles.length;
}

function makeShares(contents, whole) {
  const shares = kinds
      .map((kind) => ({kind, bytes: contents.filter((buffer) => buffer.kind === kind)
          .reduce((sum, buffer) => sum + buffer.bytes, 0)}))
      .filter((share) => share.bytes > 0);
  for (const {kind, bytes} of shares) {
    const part = element('span');
    part.style.cssText = `width:${100 * bytes / whole}%;background:var(--${kind.color})`;
    byId('peak-bar').append(part);
  }
  fillLegend(byId('peak-legend'), shares.map(({kind, bytes}) =>
      [kind.color, `${kind.plural} ${bytesText(bytes)}, ${percentText(bytes, whole)}`]));
}

function makePeak() {
  const {peak_ns: ns, peak_bytes: bytes} = data.device;
  const contents = contentsAt(ns, false);
  const running = spanAt(laneRow(steps, 0, 'predicted'), ns);
  byId('peak-text').textContent = `${contents.length} buffers, ${bytesText(bytes)}, own bytes of ` +
      `the device at ${timeText(ns)}${running ? `, when ${running.name} runs` : ''}. ` +
      `The plan\u2019s arena has ${bytesText(data.device.arena_bytes)}.`;
  makeShares(contents, bytes);
  const tiles = makeTreemap(byId('peak-map'), contents, bytes);
  const rest = contents.length - tiles;
  if (rest > 0) byId('peak-map').title = `and ${rest} smaller ones`;
  sortableTable({
    box: byId('peak-table'),
    label: 'Buffers at the peak',
    rows: contents,
    sortBy: 2,
    pick: pickTensor,
    text: (buffer) => buffer.name,
    columns: [
      {title: 'Buffer', class: 'name', value: (b) => b.name, show: (b) => nameText(b.name)},
      {title: 'Kind', value: (b) => b.kind.name, show: (b) => b.kind.name},
      {title: 'Bytes', number: true, value: (b) => b.bytes, show: (b) => bytesText(b.bytes)},
      {title: 'Share', number: true, value: (b) => b.bytes,
        show: (b) => percentText(b.bytes, bytes)},
      {title: 'Since', number: true, value: (b) => b.begin,
        show: (b) => b.first ? timeText(b.begin) : 'always'},
      {title: 'Until', class: 'name', value: (b) => b.isResident ? Infinity : b.end,
        show: untilText},
    ],
  });
}
