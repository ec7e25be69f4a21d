// Loads the page anew when the server says that it has changed, and replaces the parts that differ.
// What a reader has opened stays open; a part in which somebody types or has ticked a box is left alone.
'use strict';
{
  const source = new EventSource(document.currentScript.dataset.events);
  const busy = part => part.contains(document.activeElement) && document.activeElement.matches('input, select, textarea') ||
    [...part.querySelectorAll('input, textarea')].some(e => e.type === 'checkbox' ? e.checked !== e.defaultChecked : e.value !== e.defaultValue);
  const update = async () => {
    const answer = await fetch(location.href, {cache: 'no-store'});
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const opened = new Set([...document.querySelectorAll('details[open] > summary')].map(e => e.textContent));
    for (const e of fresh.querySelectorAll('details > summary')) if (opened.has(e.textContent)) e.parentElement.open = true;
    const ids = page => [...page.querySelectorAll('main > section')].map(e => e.id).join(' ');
    if (ids(document) !== ids(fresh) && !busy(document.querySelector('main'))) {
      document.querySelector('main').replaceWith(fresh.querySelector('main'));
    } else {
      for (const part of document.querySelectorAll('main > section')) {
        const next = fresh.getElementById(part.id);
        if (next && next.innerHTML !== part.innerHTML && !busy(part)) part.replaceWith(next);
      }
    }
    const head = document.querySelector('header'), next = fresh.querySelector('header');
    if (head.innerHTML !== next.innerHTML) head.replaceWith(next);
    document.documentElement.dataset.updated = String(Number(document.documentElement.dataset.updated || 0) + 1);
  };
  let last = Promise.resolve();
  const soon = () => { last = last.then(update, update); };
  source.addEventListener('change', soon);
  source.addEventListener('end', () => { source.close(); soon(); });
}
