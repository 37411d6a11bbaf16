// Tables of class "sortable": their heads sort, and a field above each filters its rows; of class
// "facets" its columns, too.
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

  // Of a table with facets a word that is in a head leaves its columns, and a tick what differs.
  const columns = (table, words, differing) => {
    if (!table.classList.contains('facets')) return words;
    const heads = [...table.tHead.rows[0].cells];
    const texts = heads.map((head) => head.textContent.toLowerCase());
    const rows = [...table.tBodies[0].rows].filter((row) => row.cells.length === heads.length);
    const differs = (cell) => cell.matches('.fair, .bad');
    const named = words.filter((word) => texts.slice(1).some((text) => text.includes(word)));
    heads.forEach((head, i) => {
      head.hidden = i > 0 && ((named.length > 0 && !named.some((word) => texts[i].includes(word)))
        || (differing && !rows.some((row) => differs(row.cells[i]))));
      rows.forEach((row) => { row.cells[i].hidden = head.hidden; });
    });
    return words.filter((word) => !named.includes(word));
  };

  const filter = (table, text, differing, said) => {
    const wanted = columns(table, text.toLowerCase().split(/\s+/).filter(Boolean), differing);
    const rows = [...table.tBodies[0].rows];
    rows.forEach((row) => {
      const words = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => words.includes(word))
        || (differing && !row.querySelector('.fair:not([hidden]), .bad:not([hidden])'));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    said.textContent = text || differing ? `${shown} of ${rows.length} rows` : '';
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
    const tick = document.createElement('input');
    const look = () => filter(table, field.value.trim(), tick.checked, said);
    if (table.classList.contains('facets')) {
      const only = document.createElement('label');
      tick.type = 'checkbox';
      only.append(tick, ' Only what differs');
      tick.addEventListener('input', look);
      label.after(' ', only);
    }
    field.addEventListener('input', look);
    table.closest('.scroll').before(bar);
  });

  // What a link leads to is unfolded.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === 'DETAILS') part.open = true;
    }
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', unfold);
  if (location.hash) unfold();
})();
