package chromium

// Scripts that check a page in the browser. Each returns what is wrong.

// Overflowing names the elements that overflow on the right.
const Overflowing = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll')).slice(0, 12).map(e => e.tagName + '.' + e.className + ' in ' + e.closest('section, header')?.id)`

// PoorContrast computes the contrast ratio (WCAG 2.1, 1.4.3) of every visible text
// against the backgrounds behind it and returns the poorest cases.
const PoorContrast = `(() => {
	const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m };
	const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
	const light = c => { const [r, g, b] = c.map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4 }); return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const out = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		const e = n.parentElement;
		if (!n.data.trim() || e.closest('.away, .skip') || !e.getClientRects().length) continue;
		const layers = []; let opacity = 1;
		for (let p = e; p; p = p.parentElement) { const s = getComputedStyle(p); layers.push(parse(s.backgroundColor)); opacity *= Number(s.opacity) }
		let back = [255, 255, 255];
		for (const l of layers.reverse()) back = over(l, back);
		const ink = parse(getComputedStyle(e).color); ink[3] *= opacity;
		const a = light(over(ink, back)), b = light(back);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push(ratio.toFixed(2) + ' ' + e.className + ' ' + n.data.trim().slice(0, 40));
	}
	return [...new Set(out)];
})()`

// Tables names tables that a screen reader would not recognise, or would find
// without a name.
const Tables = `[...document.querySelectorAll('table')].flatMap(t => {
		const out = [], display = getComputedStyle(t.tBodies[0].rows[0]).display;
		if (!t.caption && !t.getAttribute('aria-label') && !t.getAttribute('aria-labelledby') && !t.closest('[aria-label]')) out.push('no name: ' + t.className);
		if (display !== 'table-row' && t.getAttribute('role') !== 'table') out.push('no role: ' + t.className);
		for (const th of t.querySelectorAll('th')) if (!th.scope) out.push('no scope: ' + th.textContent);
		if (t.getAttribute('role') === 'table') for (const c of t.querySelectorAll('tr, td, th')) if (!c.getAttribute('role')) out.push('no role: ' + c.textContent);
		return out })`
