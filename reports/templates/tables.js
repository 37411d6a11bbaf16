// Tables of class "sortable": their heads sort, and a field above each filters its rows.
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.n === undefined) return cell.textContent.trim();
    return cell.dataset.n === '' ? -Infinity : Number(cell.dataset.n);
  };
  const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b
    : String(a).localeCompare(String(b), 'en', { numeric: true }));

  const sort = (table, column, descending) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((x, y) => compare(value(x, column), value(y, column)));
    body.append(...(descending ? rows.reverse() : rows));
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      if (i === column) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
  };

  const filter = (table, words, said) => {
    const wanted = words.toLowerCase().split(/\s+/);
    const rows = [...table.tBodies[0].rows];
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    said.textContent = words ? `${shown} of ${rows.length} rows` : '';
  };

  document.querySelectorAll('table.sortable').forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement('button');
      button.append(...head.childNodes);
      button.addEventListener('click', () => {
        sort(table, column, head.getAttribute('aria-sort') === 'ascending');
      });
      head.append(button);
    });
    const label = document.createElement('label');
    const field = document.createElement('input');
    const said = document.createElement('span');
    field.type = 'search';
    said.setAttribute('role', 'status');
    label.append('Filter ', field);
    const bar = document.createElement('p');
    bar.className = 'filter';
    bar.append(label, ' ', said);
    field.addEventListener('input', () => filter(table, field.value.trim(), said));
    table.closest('.scroll').before(bar);
  });
})();
