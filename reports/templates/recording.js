// The page of a recording: its texts, one picked token, and a timeline. `data` has columns, one value
// for each token of a text; pieces, chains and verdicts stand once and are named by their number.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const part = (id) => document.getElementById(id);
  const PROPERTIES = [
    'a stage differs from the reference', 'forced by a grammar: it left one token, or removed the favourite',
    'forced: one survivor before the draw',
    'the chain removed the model\'s favourite', 'drawn from the tail: p below 0.05',
    'greedy takes another token', 'drawn and not accepted', 'a stage was not judged'];
  const SVG = 'http://www.w3.org/2000/svg';
  const state = { text: 0, at: 0, picked: -1, spans: [], hits: [] };

  const element = (name, attributes, ...children) => {
    const made = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  };
  const drawn = (name, attributes, ...children) => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  };
  const count = (n) => (n === null ? '?' : n.toLocaleString('en'));
  const several = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;
  const number = (x) => {
    if (x === null || typeof x === 'string') return x ?? '';
    return x !== 0 && Math.abs(x) < 0.001 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
  };
  const column = (name, i) => data.texts[state.text].columns[name][i];
  const piece = (at) => (data.texts_of_pieces[at] ?? `[${data.ids[at]}]`).replaceAll('\n', '↵').replaceAll('\t', '⇥') || '·';
  const code = (at) => element('code', { title: `token ${data.ids[at]}` }, element('bdi', {}, piece(at)));
  const shorter = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);
  const bits = (p) => (p > 0 ? -Math.log2(p) : Infinity);

  // The properties of each token of a text: a bit each, in the order of PROPERTIES.
  const TAIL = 0.05;
  const flagsOf = (columns) => columns.piece.map((_, i) => {
    const verdicts = columns.stages[i].map((row) => data.verdicts[typeof row === 'number' ? row : row[4]]);
    const judged = verdicts.filter((verdict) => !verdict.startsWith('not judged'));
    const [forced, removed, p] = [columns.forced_by[i], columns.favourite_removed_by[i], columns.p[i]];
    return [
      judged.some((verdict) => verdict !== 'identical'), [forced, removed].some((by) => by.startsWith('grammar')),
      forced !== '', removed !== '', p !== null && p < TAIL, columns.differs_from_greedy[i],
      !columns.accepted[i], judged.length < verdicts.length,
    ].reduce((flags, holds, bit) => flags | (holds << bit), 0);
  });
  data.texts.forEach((text) => { text.columns.flags = flagsOf(text.columns); });

  // The stages of a token with the value of each that is not written again where nothing changed.
  const stages = (i) => {
    let now = { n: column('before', i), mass: 1, logit: column('logit', i), p: column('model_p', i) };
    return data.chains[column('chain', i)].map(([name, parameters], k) => {
      const row = column('stages', i)[k];
      const before = now;
      if (typeof row === 'number') {
        return { name, parameters, before, after: now, verdict: data.verdicts[row], removed: [], changed: [], same: true };
      }
      const [n, mass, logit, p, verdict, changes, removed, changed] = row;
      now = { n, mass, logit, p };
      return { name, parameters, before, after: now, verdict: data.verdicts[verdict], changes, removed, changed };
    });
  };

  const effect = ({ before, after, removed, changed, changes }) => {
    const parts = [];
    const some = (values, size, shown) => {
      for (let k = 0; k < values.length; k += size) parts.push(k ? ', ' : ': ', code(values[k]), ` ${shown(values.slice(k + 1, k + size))}`);
    };
    if (after.n !== null && before.n !== null && after.n < before.n) {
      parts.push(`removed ${count(before.n - after.n)}`);
      some(removed, 2, ([logit]) => number(logit));
    }
    if (changes) {
      parts.push(`${parts.length ? '; ' : ''}changed ${changes === after.n && changes > 3 ? `all ${count(changes)} logits` : count(changes)}`);
      some(changed, 3, ([was, is]) => `${number(was)} → ${number(is)}`);
    }
    if (before.mass === null || after.mass === null) parts.push(parts.length ? '; ' : '', 'logits not recorded');
    return parts.length ? parts : ['nothing'];
  };

  const table = (caption, heads, rows, style) => {
    const body = rows.map((row) => element('tr', {}, ...row.map((cell, k) => {
      const content = [].concat(cell.content ?? cell);
      const attributes = k === 0 ? { scope: 'row' } : { 'data-label': heads[k] };
      const tone = [cell.kind, cell.tone].filter(Boolean).join(' ');
      if (tone) attributes.class = tone;
      return element(k === 0 ? 'th' : 'td', attributes, ...content);
    })));
    const head = heads.map((text) => element('th', { scope: 'col' }, text));
    return element('div', { class: 'scroll', role: 'group', tabindex: '0', 'aria-label': caption },
      element('table', { class: style }, element('caption', {}, element('span', {}, caption)),
        element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body)));
  };
  const right = (content) => ({ content, kind: 'n' });
  const toneOf = (verdict) => (verdict === 'identical' ? 'good' : verdict.startsWith('not judged') ? 'fair' : 'bad');

  // Survivors on a logarithmic axis, the model's probability that they hold, and p of the token.
  const picture = (i, list) => {
    const all = column('before', i);
    if (all === null) return '';
    const first = { name: 'before the chain', parameters: '', after: { n: all, mass: 1, p: column('model_p', i) }, verdict: 'identical' };
    const shown = [first, ...list.filter((stage) => !stage.same || toneOf(stage.verdict) === 'bad')];
    const [width, height, wide] = [360, 56, 270];
    const svg = drawn('svg', { viewBox: `0 0 ${width} ${shown.length * height}`, role: 'img' });
    shown.forEach(({ name, parameters, after, verdict }, k) => {
      const y = k * height;
      const label = drawn('text', { x: 0, y: y + 14, class: 'label' }, name);
      label.append(drawn('tspan', { class: 'parameters' }, ` ${shorter(parameters, 54 - name.length)}`));
      if (toneOf(verdict) === 'bad') label.append(drawn('tspan', { class: 'differs' }, ' differs'));
      svg.append(label);
      const bar = (top, share, style, text) => {
        svg.append(drawn('rect', { x: 0, y: top, width: wide, height: 12, class: 'back' }));
        if (share > 0) svg.append(drawn('rect', { x: 0, y: top, width: Math.max(1, wide * share), height: 12, class: style }));
        svg.append(drawn('text', { x: wide + 8, y: top + 10 }, text));
      };
      const survivors = after.n === null ? 0 : Math.log(after.n + 1) / Math.log(all + 1);
      bar(y + 20, survivors, 'survivors', count(after.n));
      bar(y + 35, after.mass ?? 0, 'mass', after.mass === null ? '?' : number(after.mass));
      if (after.p !== null) svg.append(drawn('circle', { cx: wide * after.p, cy: y + 41, r: 5, class: 'p' }));
    });
    const said = shown.map(({ name, after }) => `${name}: ${count(after.n)} survivors, mass ${number(after.mass)}, p ${number(after.p)}`);
    svg.setAttribute('aria-label', said.join('; '));
    const key = (style, text) => [element('span', { class: `key ${style}` }), `${text} `];
    return element('figure', { class: 'picture' }, svg, element('figcaption', { class: 'quiet' },
      ...key('survivors', 'survivors (logarithmic)'), ...key('mass', 'the model\'s probability that they hold'),
      ...key('p', 'p of the token.'), 'Stages without an effect are only in the table.'));
  };

  const facts = (i) => {
    const list = element('dl', {});
    const fact = (term, ...content) => list.append(element('dt', {}, term), element('dd', {}, ...content));
    const p = column('p', i);
    fact('probability', p === null ? 'not recorded' : `${number(p)}, ${number(bits(p))} bits of surprisal`);
    if (column('model_rank', i) !== null) {
      fact('for the model', `rank ${count(column('model_rank', i))} of ${count(column('before', i))}, p ${number(column('model_p', i))}`);
      fact('entropy', `${number(column('entropy', i))} bits before the chain`);
    }
    const draw = column('draw', i);
    if (draw) fact('random number', `${number(draw[0])}; the token has [${number(draw[1])}, ${number(draw[2])})`);
    const best = column('best', i);
    if (best !== null && best !== column('piece', i)) fact('largest p after the chain', code(best));
    const [forced, removed] = [column('forced_by', i), column('favourite_removed_by', i)];
    if (forced) fact('forced by', forced);
    if (removed) fact('favourite', `removed by ${removed}`);
    const names = PROPERTIES.filter((_, k) => column('flags', i) & (1 << k));
    if (names.length) fact('properties', names.join('; '));
    return list;
  };

  const show = (i) => {
    const shown = piece(column('piece', i));
    part('picked-head').replaceChildren(`Token ${count(column('number', i))}: `, code(column('piece', i)), ` (${data.ids[column('piece', i)]})`);
    const survivors = column('survivors', i);
    part('picked-said').textContent = `${shown}: probability ${number(column('p', i)) || 'not recorded'}`
      + `${survivors === null ? '' : `, ${several(survivors, 'survivor')} of ${count(column('before', i))}`}.`;
    const list = stages(i);
    const rows = list.map((stage) => [
      [stage.name, element('div', { class: 'quiet' }, stage.parameters)], right(stage.before.n === stage.after.n ? count(stage.after.n) : `${count(stage.before.n)} → ${count(stage.after.n)}`),
      { content: effect(stage), kind: 'text' }, right(stage.after.mass === null ? '?' : number(stage.after.logit) || 'removed'), right(stage.after.mass === null ? '?' : number(stage.after.p)),
      { content: stage.verdict, tone: toneOf(stage.verdict), kind: stage.verdict.length > 12 ? 'text' : '' }]);
    const heads = ['sampler', 'candidates', 'removed or changed', 'logit', 'p', 'verdict'];
    const parts = [facts(i), picture(i, list), table('Stages of this token', heads, rows, 'stacked stages')];
    const top = column('top', i);
    if (top.length) {
      const candidates = [];
      for (let k = 0; k < top.length; k += 4) {
        const gone = top[k + 3];
        candidates.push([code(top[k]), right(String(data.ids[top[k]])), right(number(top[k + 1])), right(number(top[k + 2])),
          gone < 0 ? 'survives' : `removed by ${list[gone].name}`]);
      }
      parts.push(table(`The ${candidates.length} largest candidates before the chain`, ['piece', 'token', 'logit', 'p', 'in the chain'], candidates, 'stacked'));
    }
    const close = element('button', { type: 'button' }, 'Close');
    close.addEventListener('click', unpick);
    part('picked-body').replaceChildren(...parts, close);
  };

  const mark = () => {
    const x = (1000 * (state.at + 0.5)) / state.spans.length;
    part('timeline').querySelector('.here').setAttribute('d', `M${x} 0V100`);
    const slider = part('timeline');
    slider.setAttribute('aria-valuenow', state.at + 1);
    const [h, n] = [column('entropy', state.at), column('survivors', state.at)];
    slider.setAttribute('aria-valuetext', `token ${state.at + 1}: ${piece(column('piece', state.at))}, entropy ${number(h)} bits, ${count(n)} survivors`);
  };

  // Makes a token the one that the arrow keys start from.
  const move = (i, focus = true) => {
    const to = Math.max(0, Math.min(i, state.spans.length - 1));
    state.spans[state.at]?.removeAttribute('tabindex');
    state.at = to;
    const span = state.spans[to];
    if (!span) return;
    span.setAttribute('tabindex', '0');
    if (focus) span.focus({ preventScroll: true });
    const box = part('tokens');
    const [top, bottom] = [span.offsetTop, span.offsetTop + span.offsetHeight];
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    if (state.picked >= 0) pick(to);
    else mark();
  };
  const release = () => {
    state.spans[state.picked]?.setAttribute('aria-selected', 'false');
    state.picked = -1;
  };
  const pick = (i) => {
    release();
    state.picked = i;
    state.spans[i].setAttribute('aria-selected', 'true');
    show(i);
    mark();
  };
  const clear = () => {
    part('picked-head').textContent = 'No token is picked';
    part('picked-said').textContent = '';
    part('picked-body').replaceChildren();
  };
  function unpick() {
    release();
    clear();
    state.spans[state.at]?.focus();
  }

  // The token of the line above or below that is nearest to this one.
  const beside = (step) => {
    const here = state.spans[state.at];
    const middle = here.offsetLeft + here.offsetWidth / 2;
    let [best, line, distance] = [state.at, null, Infinity];
    for (let i = state.at + step; i >= 0 && i < state.spans.length; i += step) {
      const { offsetTop, offsetLeft, offsetWidth } = state.spans[i];
      if (line === null && Math.abs(offsetTop - here.offsetTop) > 4) line = offsetTop;
      if (line !== null) {
        if (Math.abs(offsetTop - line) > 4) break;
        const far = Math.abs(offsetLeft + offsetWidth / 2 - middle);
        if (far < distance) [best, distance] = [i, far];
      }
    }
    return best;
  };

  const timeline = () => {
    const n = state.spans.length;
    const { entropy, survivors, before } = data.texts[state.text].columns;
    const largest = (values) => values.reduce((most, x) => (x !== null && x > most ? x : most), 0);
    const [bitsMost, candidatesMost] = [largest(entropy) || 1, largest(before) || 1];
    const line = (values, height, bottom, style) => {
      const group = Math.max(1, Math.ceil(n / 1000));
      let d = '';
      let pen = 'M';
      for (let i = 0; i < n; i += group) {
        const some = values.slice(i, i + group).filter((x) => x !== null);
        if (!some.length) { pen = 'M'; continue; }
        const x = ((1000 * (i + Math.min(group, n - i) / 2)) / n).toFixed(1);
        for (const y of new Set([Math.min(...some), Math.max(...some)])) {
          d += `${pen}${x} ${(bottom - height(y) * 44).toFixed(1)}`;
          pen = 'L';
        }
      }
      return drawn('path', { d, class: style });
    };
    const svg = drawn('svg', { viewBox: '0 0 1000 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      line(entropy, (x) => x / bitsMost, 47, 'entropy'),
      line(survivors, (x) => Math.log(x + 1) / Math.log(candidatesMost + 1), 98, 'survivors'),
      drawn('path', { class: 'here' }));
    part('timeline').replaceChildren(svg);
    part('timeline').setAttribute('aria-valuemax', Math.max(1, n));
    part('timeline-scale').replaceChildren(
      element('span', { class: 'key mass' }), `entropy before the chain, 0 to ${number(bitsMost)} bits `,
      element('span', { class: 'key survivors' }), `survivors, 1 to ${count(candidatesMost)} (logarithmic)`);
  };

  const open = (text) => {
    state.text = text;
    [state.at, state.picked] = [0, -1];
    part('text').value = String(text);
    const { columns, shown } = data.texts[text];
    state.spans = columns.piece.map((at, i) => {
      const span = document.createElement('span');
      const [known, p] = [data.texts_of_pieces[at], columns.p[i]];
      const content = shown[i] ?? known;
      span.textContent = content === null || content === undefined ? `[${data.ids[at]}] ` : content || '·';
      let style = p === null ? '' : `p${Math.min(7, Math.floor((1 - p) * 8))} b${Math.min(7, Math.floor(bits(p)))}`;
      if (content === null || content === undefined) style += ' id';
      else if (!content) style += ' gap';
      else if (content.includes('\n')) style += ' nl';
      if (!columns.accepted[i]) {
        style = style.replace(' nl', '') + ' dropped';
        span.textContent = span.textContent.replaceAll('\n', '↵');
      }
      span.className = style;
      span.setAttribute('role', 'option');
      if (!content || !content.trim()) span.setAttribute('aria-label', known ? JSON.stringify(known) : `token ${data.ids[at]}`);
      span.at = i;
      return span;
    });
    // dir=auto would be computed anew for every token.
    const letter = columns.piece.map((at, i) => shown[i] ?? data.texts_of_pieces[at] ?? '').join('').match(/\p{L}/u);
    part('tokens').dir = letter && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(letter[0]) ? 'rtl' : 'ltr';
    part('tokens').replaceChildren(...state.spans);
    clear();
    timeline();
    if (state.spans.length) move(0, false);
    marked();
  };

  // Tokens with the property that is looked for, of all texts.
  const look = () => {
    const flag = 1 << Number(part('property').value);
    state.hits = data.texts.flatMap(({ columns }, text) => columns.flags.flatMap((flags, i) => (flags & flag ? [[text, i]] : [])));
    part('found').textContent = `${count(state.hits.length)} of ${count(total)} tokens`;
    marked();
  };
  function marked() {
    const flag = 1 << Number(part('property').value);
    const { flags } = data.texts[state.text].columns;
    state.spans.forEach((span, i) => span.classList.toggle('hit', (flags[i] & flag) !== 0));
  }
  const jump = (step) => {
    const after = ([text, i]) => text - state.text || i - state.at;
    const ordered = step > 0 ? state.hits : [...state.hits].reverse();
    const fresh = state.picked < 0 && state.hits.some((hit) => after(hit) === 0);
    const hit = fresh ? [state.text, state.at] : ordered.find((one) => after(one) * step > 0) ?? ordered[0];
    if (!hit) return;
    if (hit[0] !== state.text) open(hit[0]);
    release();
    move(hit[1]);
    pick(hit[1]);
    part('found').textContent = `${count(state.hits.findIndex(([t, i]) => t === hit[0] && i === hit[1]) + 1)} of ${count(state.hits.length)}`;
  };

  const scale = (kind) => {
    const labels = kind === 'p' ? ['1', '', '', '', '0.5', '', '', '0'] : ['0', '1', '2', '3', '4', '5', '6', '7+'];
    part('scale').replaceChildren(...labels.map((text, k) => element('span', { class: `p${k}` }, text)), kind === 'p' ? '' : ' bits');
    part('tokens').classList.remove('p', 'b');
    part('tokens').classList.add(kind);
  };

  const total = data.texts.reduce((sum, { columns }) => sum + columns.piece.length, 0);
  data.texts.forEach(({ title, begin, columns }, i) => part('text').append(
    element('option', { value: i }, `${i + 1}: ${begin ? `“${begin.trim()}…”, ` : ''}${count(columns.piece.length)} tokens, ${title}`)));
  const counts = PROPERTIES.map((_, k) => data.texts.reduce((sum, { columns }) => sum + columns.flags.filter((flags) => flags & (1 << k)).length, 0));
  PROPERTIES.forEach((name, k) => part('property').append(element('option', { value: k }, `${name} (${count(counts[k])})`)));
  part('counted').textContent = `${several(total, 'token')} in ${several(data.texts.length, 'text')}.`
    + ` Tokens with a stage that differs from the reference: ${count(counts[0])}. Not judged: ${count(counts[7])}.`;
  part('property').value = String(Math.max(0, counts.findIndex((n) => n > 0)));

  part('text').addEventListener('change', (event) => { open(Number(event.target.value)); if (state.spans.length) pick(0); });
  part('property').addEventListener('change', look);
  part('next').addEventListener('click', () => jump(1));
  part('previous').addEventListener('click', () => jump(-1));
  document.querySelectorAll('[name=shade]').forEach((radio) => radio.addEventListener('change', () => scale(radio.value)));
  part('tokens').addEventListener('click', (event) => {
    const span = event.target.closest('[role=option]');
    if (span) { move(span.at); pick(span.at); }
  });
  part('tokens').addEventListener('keydown', (event) => {
    const to = {
      ArrowRight: () => state.at + 1, ArrowLeft: () => state.at - 1, ArrowDown: () => beside(1), ArrowUp: () => beside(-1),
      Home: () => 0, End: () => state.spans.length - 1 }[event.key];
    if (to) move(to());
    else if (event.key === 'Enter' || event.key === ' ') pick(state.at);
    else return;
    event.preventDefault();
  });
  part('timeline').addEventListener('click', (event) => {
    const box = part('timeline').getBoundingClientRect();
    const i = Math.floor((state.spans.length * (event.clientX - box.left)) / box.width);
    move(i, false);
    pick(state.at);
  });
  part('timeline').addEventListener('keydown', (event) => {
    const tenth = Math.ceil(state.spans.length / 10);
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: tenth, PageDown: -tenth, Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) move(state.at + step, false);
    else if (event.key === 'Enter' || event.key === ' ') pick(state.at);
    else return;
    event.preventDefault();
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
    if (event.key === 'n') jump(1);
    else if (event.key === 'p') jump(-1);
    else if (event.key === 'Escape' && state.picked >= 0) unpick();
  });

  // #42 in the address: the token that `why` calls 42.
  const addressed = () => {
    const wanted = Number(location.hash.slice(1));
    const text = data.texts.findIndex(({ columns }) => columns.number.includes(wanted));
    if (text < 0) return;
    if (text !== state.text) open(text);
    move(data.texts[text].columns.number.indexOf(wanted), false);
    pick(state.at);
  };
  addEventListener('hashchange', addressed);

  scale('p');
  if (data.texts.length) { open(0); look(); }
  if (state.spans.length) pick(0);
  addressed();
})();
