(page) => {
  const table = page.querySelector('table.sortable');
  const first = () => [...table.tBodies[0].rows].filter((row) => !row.hidden)
    .map((row) => row.cells[0].textContent);
  const states = [first()];
  const median = table.tHead.rows[0].cells[1];
  median.querySelector('button').click();
  states.push(median.ariaSort, first());
  median.querySelector('button').click();
  states.push(median.ariaSort, first());
  const field = page.querySelector('.filter input');
  field.value = 'v65536 slower';
  field.dispatchEvent(new Event('input'));
  states.push(first(), page.querySelector('.filter [role=status]').textContent);
  return JSON.stringify(states);
}