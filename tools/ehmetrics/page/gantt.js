// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// ---- a Gantt: a row for each host, and in it a bar for each task: { row, name, from, to, end, text, id }

const ENDS = {          // a sign and a pattern besides the colour
	done: { sign: "", word: "done" }, failed: { sign: "✕", word: "failed" }, lost: { sign: "?", word: "lost" }, ended: { sign: "", word: "ended here" },
	runs: { sign: "…", word: "runs" }, planned: { sign: "", word: "planned" }, data: { sign: "⇄", word: "data" },
};
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
const TALL = 900, LANE = 20, LONG = 5;          // of all lanes; of one

// Seconds, or units of no name.
function axisStep(length, most, seconds) {
	const least = length / most;
	if (seconds && least > 5)
		return STEPS.find(x => x >= least) || 86400 * Math.ceil(least / 86400);
	const power = 10 ** Math.floor(Math.log10(least));
	return power * [1, 2, 5, 10].find(x => x * power >= least * (1 - 1e-9));
}
const exact = x => String(Number(x.toPrecision(6)));
function axisText(x, step, seconds) {
	if (!seconds || step < 1 || x < 60)
		return exact(x) + (seconds ? " s" : "");
	return span(x);
}
function lasts(bar, seconds) { return exact(bar.to - bar.from) + (seconds ? " s" : ""); }
function about(bar, seconds) {
	return `${bar.name} on ${bar.row}: ${ENDS[bar.end].word}${bar.text ? ` (${bar.text})` : ""}, from ${exact(bar.from)}${seconds ? " s" : ""}, takes ${lasts(bar, seconds)}`;
}

// Bars of a row that overlap are below each other.
function ganttRows(bars, names) {
	const list = new Map(names.map(name => [name, { name, bars: [], lanes: 0 }]));
	for (const bar of bars) {
		if (!list.has(bar.row))
			list.set(bar.row, { name: bar.row, bars: [], lanes: 0 });
		list.get(bar.row).bars.push(bar);
	}
	const close = 1e-9 * Math.max(...bars.map(x => x.to), 0);
	for (const row of list.values()) {
		const ends = [];
		row.bars.sort((a, b) => a.from - b.from || a.to - b.to);
		for (const bar of row.bars) {
			const free = ends.findIndex(x => x <= bar.from + close);
			bar.lane = free < 0 ? ends.length : free;
			ends[bar.lane] = bar.to;
		}
		row.lanes = Math.max(1, ends.length);
	}
	return [...list.values()];
}
function ganttPatterns() {
	const pattern = (id, size, turn, ...inside) => make("svg:pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, ...inside);
	const ground = (name, size) => make("svg:rect", { class: `p-${name}`, width: size, height: size });
	return make("svg:defs", {}, pattern("g-failed", 7, 45, ground("failed", 7), make("svg:rect", { class: "p-failed-line", width: 2, height: 7 })),
		pattern("g-lost", 6, 0, ground("lost", 6), make("svg:circle", { class: "p-lost-dot", cx: 3, cy: 3, r: 1.2 })),
		pattern("g-data", 5, 0, ground("data", 5), make("svg:rect", { class: "p-data-line", width: 5, height: 1 })));
}

// Between bars by the arrow keys: one of them is reached by Tab.
function ganttKeys(svg, rows, marks) {
	const list = rows.flatMap(row => row.bars);
	let at = list[0];
	const go = bar => {
		marks.get(at).setAttribute("tabindex", "-1");
		at = bar;
		marks.get(at).setAttribute("tabindex", "0");
	};
	const beside = way => {
		const row = rows.findIndex(x => x.bars.includes(at)), middle = (at.from + at.to) / 2;
		const next = (way > 0 ? rows.slice(row + 1) : rows.slice(0, row).reverse()).find(x => x.bars.length);
		return next && next.bars.reduce((best, x) => Math.abs((x.from + x.to) / 2 - middle) < Math.abs((best.from + best.to) / 2 - middle) ? x : best);
	};
	const along = way => { const row = rows.find(x => x.bars.includes(at)).bars; return row[row.indexOf(at) + way]; };
	const keys = { ArrowRight: () => along(1), ArrowLeft: () => along(-1), ArrowDown: () => beside(1), ArrowUp: () => beside(-1), Home: () => list[0], End: () => list[list.length - 1],
		Enter: () => { if (at.id) why(at.id); } };
	if (at)
		go(at);
	svg.addEventListener("keydown", e => {
		if (!keys[e.key] || e.ctrlKey || e.altKey || e.metaKey)
			return;
		e.preventDefault();
		const bar = keys[e.key]();
		if (bar)
			marks.get(bar).focus();
	});
	return go;
}
function ganttDraw(box, chart, tell) {
	const { rows, seconds, length } = chart, lanes = rows.reduce((s, x) => s + x.lanes, 0), lane = Math.max(LONG, Math.min(LANE, Math.floor(TALL / lanes)));
	const gap = lane > 8 ? 3 : 1, longest = Math.max(...rows.map(x => x.name.length)), left = Math.min(150, 14 + 7 * longest), letters = Math.floor((left - 14) / 7);
	const width = Math.max(520, box.clientWidth || 900), wide = width - left - 26, x = t => left + wide * t / length, marks = new Map();
	const top = 26, height = top + rows.reduce((s, r) => s + r.lanes * lane + 10, 0) + 4;
	const svg = make("svg:svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${chart.label}. The arrow keys move between tasks; the table below has the same.` }, ganttPatterns());
	const step = axisStep(length, Math.max(3, Math.floor(wide / 90)), seconds);
	for (let i = 0; i * step <= length * (1 + 1e-9); i++)
		svg.append(make("svg:line", { class: "grid", x1: x(i * step), x2: x(i * step), y1: top - 6, y2: height - 4 }),
			make("svg:text", { class: "tick", x: x(i * step), y: top - 11 }, axisText(i * step, step, seconds)));
	let y = top;
	for (const row of rows) {
		const tall = row.lanes * lane + 10;
		svg.append(make("svg:line", { class: "base", x1: 0, x2: width, y1: y + tall, y2: y + tall }),
			make("svg:text", { class: "row", x: left - 10, y: y + Math.min(tall / 2, 40) + 4 }, make("svg:title", {}, row.name), row.name.length > letters ? row.name.slice(0, letters - 1) + "…" : row.name));
		for (const bar of row.bars) {
			const at = x(bar.from), long = Math.max(2, x(bar.to) - at - .5), high = lane - gap, above = y + 5 + bar.lane * lane, { sign } = ENDS[bar.end];
			const text = `${sign}${sign ? " " : ""}${bar.name}`, room = Math.floor((long - 8) / 6.6), g = make("svg:g", { class: `bar e-${bar.end}`, tabindex: "-1", role: "img", "aria-label": about(bar, seconds) },
				make("svg:title", {}, about(bar, seconds)), make("svg:rect", { x: at, y: above, width: long, height: high, rx: Math.min(3, high / 4) }));
			if (high >= 13 && room >= 1)
				g.append(make("svg:text", { x: at + 5, y: above + high / 2 + 4 }, text.length <= room ? text : room > 3 ? text.slice(0, room - 1) + "…" : sign));
			marks.set(bar, g);
			svg.append(g);
		}
		y += tall;
	}
	const go = ganttKeys(svg, rows, marks);
	for (const [bar, g] of marks) {
		g.addEventListener("focus", () => { go(bar); tell(bar); });
		g.addEventListener("pointerenter", () => tell(bar));
		if (bar.id)
			g.addEventListener("dblclick", () => why(bar.id));
	}
	box.replaceChildren(svg);
}
function ganttTable(chart) {
	const unit = chart.seconds ? " (s)" : "", head = ["host", "task", "start" + unit, "takes" + unit, "end"];
	return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((x, i) => make("th", i === 2 || i === 3 ? { scope: "col", class: "n" } : { scope: "col" }, x)))),
		make("tbody", {}, ...chart.rows.flatMap(row => row.bars).map(bar => make("tr", {}, make("td", {}, bar.row), make("td", { class: "cmd", title: bar.name }, bar.name),
			make("td", { class: "n" }, exact(bar.from)), make("td", { class: "n" }, exact(bar.to - bar.from)),
			make("td", ["failed", "lost"].includes(bar.end) ? { class: "bad" } : {}, `${ENDS[bar.end].sign} ${ENDS[bar.end].word}${bar.text ? `, ${bar.text}` : ""}`)))));
}

// An element with the drawing, what is said of one bar, and the same as a table.
function gantt({ title, bars, names = [], seconds = true, length = 0 }) {
	const rows = ganttRows(bars, names), chart = { rows, seconds, length: Math.max(length, ...bars.map(x => x.to)) || 1 }, count = {};
	for (const bar of bars)
		count[bar.end] = (count[bar.end] || 0) + 1;
	const kinds = Object.keys(ENDS).filter(x => count[x]);
	chart.label = `${title}: ${some(bars.length, "bar")} on ${some(rows.length, "host")}; ${kinds.map(x => `${count[x]} ${ENDS[x].word}`).join(", ")}`;
	const box = make("div", { class: "chart scroll" }), one = make("p", { class: "one faint" }, "Point at a bar, or move with the arrow keys, to see what it is."), button = make("button", { hidden: "" }, "why");
	const said = make("span"), table = make("details", { class: "same" }, make("summary", {}, `The same as a table: ${some(bars.length, "row")}`));
	const tell = bar => {
		one.classList.remove("faint");
		say(said, about(bar, seconds));
		button.hidden = !bar.id;
		button.onclick = () => why(bar.id);
		one.replaceChildren(said, " ", button);
	};
	table.addEventListener("toggle", () => { if (table.children.length === 1) table.append(make("div", { class: "scroll" }, ganttTable(chart))); });
	const legend = make("div", { class: "legend", "aria-hidden": "true" }, ...kinds.map(x => make("span", {},
		make("svg:svg", { class: "swatch", width: 22, height: 12 }, make("svg:g", { class: `bar e-${x}` }, make("svg:rect", { x: 1, y: 1, width: 20, height: 10, rx: 2 }))),
		` ${ENDS[x].sign} ${ENDS[x].word}: ${count[x]}`)));
	let width = 0;
	new ResizeObserver(() => {
		if (Math.abs(box.clientWidth - width) < 2)
			return;
		width = box.clientWidth;
		ganttDraw(box, chart, tell);
	}).observe(box);
	return make("figure", {}, make("figcaption", {}, title), box, legend, one, table);
}

// ---- where one is shown

function chartShow(title, ...inside) {
	say($("chart-title"), title);
	$("chart").replaceChildren(...inside);
	$("chart-close").hidden = false;
}
function chartTrouble(title, text) { chartShow(title, make("p", { class: "trouble", role: "alert" }, text)); }
function chartClose() {
	$("chart").replaceChildren(make("p", { class: "note" }, "Choose a session in the history, or open a plan: what ehctl plan, dag, divide or gang prints with --json."));
	say($("chart-title"), "");
	$("chart-close").hidden = true;
}
start(() => {
	$("chart-close").addEventListener("click", () => { chartClose(); $("plan-open").focus(); });
	chartClose();
});

// ---- of a session

const SESSION = 2000, PAGE = 200;
function sessionBar(t, first, now) {
	const from = Date.parse(t.started), to = t.ended ? Date.parse(t.ended) : t.elapsed !== null && ["lost", "refused"].includes(t.state) ? from + 1000 * t.elapsed : now;
	const running = ["here", "away"].includes(t.state), bad = t.signal || t.exit;
	const end = t.state === "lost" ? "lost" : t.state === "refused" || bad ? "failed" : running ? "runs" : typeof t.exit === "number" ? "done" : "ended";
	return { row: host(t, "executor"), name: t.command, from: (from - first) / 1000, to: Math.max(0, to - first) / 1000, end, id: t.id,
		text: t.state === "refused" ? "refused" : t.signal ? `signal ${t.signal}` : t.exit ? `exit ${t.exit}` : "" };
}
async function showSession(session) {
	chartShow(`session ${session}`, make("p", { class: "faint" }, "asking …"));
	$("h-chart").scrollIntoView({ block: "start" });
	$("h-chart").focus();
	let list = [], reply = { more: true };
	try {
		while (reply.more && list.length < SESSION) {
			reply = await ask(`api/history?session=${encodeURIComponent(session)}&limit=${PAGE}${list.length ? `&before=${list[list.length - 1].at}` : ""}`);
			// those of the moment at which the page before has ended come again
			const known = new Set(list.map(t => t.id)), more = reply.tasks.filter(t => !known.has(t.id));
			list = list.concat(more);
			if (!more.length)
				break;
		}
	} catch (e) {
		chartTrouble(`session ${session}`, `No history: ${e.message}`);
		return;
	}
	const tasks = list.filter(t => t.started).reverse(), first = Math.min(...tasks.map(t => Date.parse(t.started)));
	if (!tasks.length) {
		chartTrouble(`session ${session}`, "It has no task in the history.");
		return;
	}
	const bars = tasks.map(t => sessionBar(t, first, Date.now())), home = host(tasks[0], "home");
	const names = [...new Set(bars.map(x => x.row))].sort((a, b) => (b === home) - (a === home) || a.localeCompare(b, "en", { numeric: true }));
	chartShow(`session ${session}`, ...(reply.more ? [make("p", { class: "note" }, `Only the last ${tasks.length} tasks are shown.`)] : []),
		gantt({ title: `${some(tasks.length, "task")} since ${day(new Date(first))}, home ${home}`, bars, names }));
}
