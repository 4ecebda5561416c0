// A table with a filter box, sortable by its headers. Only some rows are in the
// page at first, so a table of ten thousand rows stays fast.

const rowsAtOnce = 100;

// columns: {title, value(row): the sort key, show(row): text or element,
// number: right-aligned, sorted in descending order first}. options: {box,
// rows, columns, label, sortBy: index, ascending, text(row): the text that the
// filter searches (optional), rowClass(row), checks: [[label, keep(row)]],
// pick(row): what a click on the row shows in the charts (highlight.js;
// optional)}
function sortableTable(options) {
  const {box, rows, columns} = options;
  const state = {
    column: options.sortBy,
    descending: columns[options.sortBy].number === true && !options.ascending,
    shown: rowsAtOnce,
    words: [],
    checks: new Set(),
  };
  const headers = columns.map((column, index) => {
    const button = element('button', {type: 'button'}, column.title);
    const header = element('th', {
      scope: 'col', role: 'columnheader', class: column.number ? 'number' : ''}, button);
    button.addEventListener('click', () => {
      state.descending = state.column === index ? !state.descending : column.number === true;
      state.column = index;
      update();
    });
    return header;
  });
  // Narrow windows show each row as a block (page.css). Without the roles,
  // screen readers would not recognise a table.
  const body = element('tbody', {role: 'rowgroup'});
  const table = element('table', {class: 'sortable', role: 'table', 'aria-label': options.label},
      element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, ...headers)), body);
  const more = element('button', {type: 'button'});
  const count = element('span', {class: 'note', role: 'status'});
  more.addEventListener('click', () => {
    state.shown += 10 * rowsAtOnce;
    update();
  });

  function sorted() {
    const {value} = columns[state.column];
    const order = state.descending ? -1 : 1;
    const keyed = rows.map((row, index) => ({row, index, key: value(row)}));
    keyed.sort((a, b) => {
      if (a.key === b.key) return a.index - b.index;
      if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
      return (a.key < b.key ? -1 : 1) * order;
    });
    return keyed.map((item) => item.row).filter((row) => {
      const text = options.text ? options.text(row).toLowerCase() : '';
      return state.words.every((word) => text.includes(word)) &&
          [...state.checks].every((keep) => keep(row));
    });
  }

  function update() {
    const kept = sorted();
    headers.forEach((header, index) => {
      const sort = state.descending ? 'descending' : 'ascending';
      header.setAttribute('aria-sort', index === state.column ? sort : 'none');
    });
    body.replaceChildren(...kept.slice(0, state.shown).map((row) => {
      const line = element('tr', {
        role: 'row', class: options.rowClass ? options.rowClass(row) : ''});
      columns.forEach((column, index) => {
        const content = column.show(row);
        const leads = options.pick && index === 0;
        line.append(element('td', {
          role: 'cell',
          class: column.number ? 'number' : column.class || '',
          'data-label': column.title,
        }, leads ? element('button', {
          type: 'button', class: 'leads', title: 'Show it in the charts'}, content) : content));
      });
      if (options.pick) {
        line.classList.add('leads');
        line.addEventListener('click', () => highlight.show(options.pick(row)));
      }
      return line;
    }));
    const left = Math.max(0, kept.length - state.shown);
    more.hidden = left === 0;
    more.textContent = `Show ${Math.min(left, 10 * rowsAtOnce)} more`;
    count.textContent = kept.length === rows.length ?
        `${rows.length} rows` : `${kept.length} of ${rows.length} rows`;
    table.dataset.rows = kept.length;
  }

  const filter = element('div', {class: 'filter'});
  if (options.text) {
    const input = element('input', {type: 'search', placeholder: 'Filter by name',
      'aria-label': `Filter: ${options.label}`});
    input.addEventListener('input', () => {
      state.words = input.value.toLowerCase().split(/\s+/).filter((word) => word);
      state.shown = rowsAtOnce;
      update();
    });
    filter.append(input);
  }
  for (const [label, keep] of options.checks || []) {
    const check = element('input', {type: 'checkbox'});
    check.addEventListener('change', () => {
      state.checks[check.checked ? 'add' : 'delete'](keep);
      update();
    });
    filter.append(element('label', {}, check, ` ${label}`));
  }
  filter.append(count);
  update();
  box.replaceChildren(filter,
      element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': options.label},
          table),
      more);
}

const zeroAsDash = (value, text) =>
    value ? text(value) : element('span', {class: 'zero'}, '-');
