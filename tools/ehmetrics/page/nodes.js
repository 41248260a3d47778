// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// ---- nodes

let status = null, scale = 1;
// Of what other hosts say nothing is believed, not even its kind: one of them must not spoil the picture of all.
const textOf = x => typeof x === "string" ? x.slice(0, 256) : "";
const numberOf = x => typeof x === "number" && isFinite(x) && x >= 0 ? x : 0;
const listOf = x => Array.isArray(x) ? x.filter(y => y && typeof y === "object") : [];
const STATES = ["sender", "ok", "receiver"];
function unique(list) {
	return [...new Map(list.filter(x => x.code).map(x => [x.code, x])).values()];
}
function clean(s) {
	const nodes = unique(listOf(s.nodes).map(x => ({
		code: textOf(x.code), host: textOf(x.host) || textOf(x.code), agent: x.agent === "up" && STATES.includes(x.state) ? "up" : "down",
		state: STATES.includes(x.state) ? x.state : "unknown", load: numberOf(x.load), threshold: numberOf(x.threshold), threshold_length: numberOf(x.threshold_length),
		tasks: Object.fromEntries(["local", "guest", "away"].map(kind => [kind, numberOf((x.tasks || {})[kind])])), module: x.module === true, draining: x.draining === true,
		controller_of: (Array.isArray(x.controller_of) ? x.controller_of : []).map(textOf), reason: textOf((x.drain || {}).reason),
	})));
	const groups = unique(listOf(s.groups).map(x => ({ code: textOf(x.code), host: textOf(x.host) || textOf(x.controller), state: STATES.includes(x.state) ? x.state : "unknown",
		nodes: numberOf(x.nodes), load: numberOf(x.load), threshold: numberOf(x.threshold) })));
	return { ...s, nodes, groups };
}
const past = new Map();         // code: loads
const stateOf = node => node.agent !== "up" ? "down" : node.draining ? "draining" : node.state;
const classOf = node => "s-" + (node.agent !== "up" ? "unknown" : node.state);
const above = code => code.includes(".") ? code.slice(0, code.lastIndexOf(".")) : null;

const rows = new Map(), groups = new Map();
function groupOf(code) {
	let g = groups.get(code);
	if (g)
		return g;
	const name = make("b"), sums = make("span", { class: "sums" }), inner = make("div"), body = make("tbody");
	const table = make("table", { class: "nodes", hidden: "" },
		make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "c-state" }, "state"), make("th", { scope: "col" }, "node"),
			make("th", { scope: "col", class: "c-bar x" }, "load"), make("th", { scope: "col", class: "c-load n" }, "load / threshold"),
			...["here", "guests", "away"].map(x => make("th", { scope: "col", class: "c-tasks n x" }, x)), make("th", { scope: "col", class: "c-line x" }, "5 minutes"))), body);
	const box = make("details", { open: "" }, make("summary", {}, name, sums), table, inner);
	g = { code, name, sums, inner, body, table, box, seen: 0 };
	groups.set(code, g);
	(above(code) === null ? $("tree") : groupOf(above(code)).inner).append(box);
	return g;
}
function rowOf(node) {
	let r = rows.get(node.code);
	if (r)
		return r;
	r = { sign: make("span", { class: "sign", "aria-hidden": "true" }), word: make("span", { class: "word" }), host: make("b"), code: make("span", { class: "faint" }),
		badges: make("span"), fill: make("i"), band: make("b"), mark: make("u"), load: make("td", { class: "n" }),
		tasks: ["local", "guest", "away"].map(() => make("td", { class: "n x" })), line: make("svg:polyline"), at: make("svg:line", { x1: 0, x2: KEPT - 1 }) };
	r.bar = make("div", { class: "bar", role: "img" }, r.fill, r.band, r.mark);
	r.tr = make("tr", { "data-node": node.code }, make("td", {}, r.sign, " ", r.word), make("td", {}, make("span", { class: "who" }, r.host, " ", r.code), r.badges), make("td", { class: "x" }, r.bar), r.load, ...r.tasks,
		make("td", { class: "x" }, make("svg:svg", { class: "spark", viewBox: `0 0 ${KEPT - 1} 24`, preserveAspectRatio: "none", "aria-hidden": "true" }, r.at, r.line)));
	rows.set(node.code, r);
	const g = groupOf(above(node.code) || node.code);
	g.table.hidden = false;
	// in the order of codes
	const next = [...g.body.children].find(x => x.dataset.node.localeCompare(node.code, "en", { numeric: true }) > 0);
	g.body.insertBefore(r.tr, next || null);
	return r;
}
function showNode(node) {
	const r = rowOf(node), up = node.agent === "up", state = stateOf(node), high = (node.threshold || 0) + (node.threshold_length || 0);
	const low = Math.max(0, (node.threshold || 0) - (node.threshold_length || 0)), percent = x => `${Math.min(100, 100 * x / scale)}%`;
	if (r.tr.className !== classOf(node))
		r.tr.className = classOf(node);
	say(r.sign, SIGN[state] || "✕");
	say(r.word, state);
	say(r.host, node.host || node.code);
	say(r.code, node.code);
	const badges = [];
	if (node.code === status.self) badges.push("this node");
	if (node.controller_of.length) badges.push(`leads ${node.controller_of[node.controller_of.length - 1]}`);
	if (node.draining && node.reason) badges.push(node.reason);
	if (up && !node.module && status.nodes.some(x => x.module)) badges.push("no module");
	if (r.badges.textContent !== badges.join(""))
		r.badges.replaceChildren(...badges.map(x => make("span", { class: "badge" }, x)));
	r.bar.hidden = !up;
	r.bar.setAttribute("aria-label", up ? `load ${number(node.load)}, threshold ${number(node.threshold)}, ${state}` : "not known");
	r.fill.style.width = percent(node.load || 0);
	r.band.style.left = percent(low);
	r.band.style.width = percent(high - low);
	r.mark.style.left = `calc(${percent(node.threshold || 0)} - 1px)`;
	say(r.load, up ? `${number(node.load)} / ${number(node.threshold)}` : "–");
	["local", "guest", "away"].forEach((kind, i) => say(r.tasks[i], up ? node.tasks[kind] : "–"));
	const loads = past.get(node.code) || [], y = x => (23 - 22 * Math.min(1, x / scale)).toFixed(1);
	r.line.setAttribute("points", loads.map((x, i) => x === null ? null : `${KEPT - loads.length + i},${y(x)}`).filter(Boolean).join(" "));
	r.at.setAttribute("y1", y(node.threshold || 0));
	r.at.setAttribute("y2", y(node.threshold || 0));
	r.at.style.visibility = up ? "" : "hidden";
}
function showGroup(code) {
	const g = groupOf(code), sums = status.groups.find(x => x.code === code);
	say(g.name, `Group ${code}`);
	say(g.sums, sums ? `${SIGN[sums.state] || ""} ${sums.state} · led by ${sums.host} · ${sums.nodes} nodes · load ${number(sums.load)} of ${number(sums.threshold)}`
		: "its controller is not known");
	if (above(code) !== null)
		showGroup(above(code));
}
function filter() {
	const wanted = $("find").value.trim().toLowerCase();
	for (const r of rows.values())
		r.tr.hidden = wanted !== "" && !`${r.host.textContent} ${r.code.textContent} ${r.word.textContent}`.toLowerCase().includes(wanted);
}
$("find").addEventListener("input", filter);

// ---- the drawing: groups above, nodes as columns, tasks that moved as arcs below

let arcs = [];
const order = (a, b) => a.code.localeCompare(b.code, "en", { numeric: true });
function draw() {
	const nodes = [...status.nodes].sort(order), n = nodes.length;
	if (!n || n > DRAWN) {
		$("map").replaceChildren(make("p", { class: "note" }, n ? `${n} nodes are too many to be drawn; the list below has them.` : "No node is known."));
		return;
	}
	const depth = Math.max(...nodes.map(x => x.code.split(".").length)) - 1, room = $("map").clientWidth || 900;
	// as wide as there is room, and not so narrow that few nodes have no names
	const step = Math.max(n > 12 ? 26 : 62, Math.min(110, (room - 20) / n)), width = Math.max(room, n * step + 20);
	const left = (width - n * step) / 2, wide = Math.min(34, step - 10), top = 8 + depth * 42, tall = 96, base = top + tall, long = step > 52, letters = Math.floor((step - 18) / 7);
	const x = new Map(nodes.map((node, i) => [node.code, left + (i + .5) * step])), svg = make("svg:svg", { width, height: base + 82, viewBox: `0 0 ${width} ${base + 82}`, role: "img" });
	const label = nodes.map(node => `${node.host}: ${stateOf(node)}, load ${number(node.load)} of ${number(node.threshold)}`).join("; ");
	svg.setAttribute("aria-label", label);
	svg.append(make("svg:defs", {}, make("svg:pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
		make("svg:rect", { width: 7, height: 7, fill: "var(--sender)" }), make("svg:rect", { width: 2.4, height: 7, fill: "var(--panel)", opacity: .55 })),
		make("svg:marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, make("svg:path", { d: "M0 0L8 4L0 8z", class: "tip" }))));
	// groups: the middle of those below
	const middle = new Map();
	for (let level = depth; level >= 1; level--) {
		const codes = new Map();
		for (const [code, at] of level === depth ? [...x] : [...middle].filter(([c]) => c.split(".").length === level + 1)) {
			const up = above(code);
			codes.set(up, [...(codes.get(up) || []), [code, at]]);
		}
		for (const [code, children] of codes) {
			const at = (children[0][1] + children[children.length - 1][1]) / 2, y = 20 + (level - 1) * 42, below = level === depth ? top - 4 : y + 31;
			middle.set(code, at);
			for (const [, child] of children)
				svg.append(make("svg:path", { class: "wire", d: `M${at} ${y + 11}V${(y + 11 + below) / 2}H${child}V${below}` }));
			const sums = status.groups.find(g => g.code === code), text = sums ? `${SIGN[sums.state] || ""} ${code} · ${sums.host}` : `${code} · ?`;
			const box = 16 + 7 * text.length;
			svg.append(make("svg:rect", { class: "group", x: at - box / 2, y: y - 11, width: box, height: 22, rx: 5 }), make("svg:text", { x: at, y: y + 4 }, text));
		}
	}
	for (const node of nodes) {
		const at = x.get(node.code), up = node.agent === "up", h = v => tall * Math.min(1, v / scale);
		const g = make("svg:g", {}, make("svg:title", {}, `${node.host} (${node.code}): ${stateOf(node)}, load ${number(node.load)}, threshold ${number(node.threshold)}`));
		g.append(make("svg:rect", { class: up ? "track" : "f-unknown", x: at - wide / 2, y: top, width: wide, height: tall, rx: 3 }));
		if (up) {
			g.append(make("svg:rect", { class: "f-" + node.state, x: at - wide / 2, y: base - h(node.load), width: wide, height: Math.max(1, h(node.load)), rx: 2 }),
				make("svg:line", { class: "mark", x1: at - wide / 2 - 4, x2: at + wide / 2 + 4, y1: base - h(node.threshold), y2: base - h(node.threshold) }));
		}
		g.append(make("svg:text", { x: at, y: base + 15 }, `${SIGN[stateOf(node)] || "✕"}${long ? " " + (node.host.length > letters ? node.host.slice(0, letters - 1) + "…" : node.host) : ""}`));
		g.append(make("svg:text", { x: at, y: base + 28, class: "small" }, long ? (up ? `${number(node.load, 1)} / ${number(node.threshold, 1)}` : "down") : node.code.split(".").pop()));
		svg.append(g);
	}
	arcs = arcs.filter(a => Date.now() - a.at < ARC);
	for (const a of arcs) {
		const from = x.get(a.home), to = x.get(a.executor);
		if (from === undefined || to === undefined)
			continue;
		const y = base + 34, d = Math.min(44, 16 + Math.abs(to - from) / 9);
		svg.append(make("svg:path", { class: "arc", "marker-end": "url(#tip)", d: `M${from} ${y}C${from} ${y + d},${to} ${y + d},${to} ${y}`,
			opacity: Math.max(.15, 1 - (Date.now() - a.at) / ARC).toFixed(2) }));
	}
	$("map").replaceChildren(svg);
}

// ---- the status

function counts(at, list, name, text) {
	const most = Math.max(1, ...list.map(x => x.tasks)), cells = [];
	for (const one of [...list].sort((a, b) => b.tasks - a.tasks).slice(0, 12)) {
		if (!one.tasks)
			continue;
		const bar = make("i");
		bar.style.width = `${100 * one.tasks / most}%`;
		cells.push(make("span", {}, text(one)), bar, make("span", { class: "n" }, one.tasks));
	}
	at.replaceChildren(...(cells.length ? cells : [make("span", { class: "faint" }, "none yet")]));
}
function show() {
	const nodes = status.nodes, up = nodes.filter(x => x.agent === "up");
	scale = 1.15 * Math.max(.5, ...up.map(x => Math.max(x.load, x.threshold + x.threshold_length, 1.4 * x.threshold)));
	say($("self"), `on ${status.self_host || status.self}`);
	const drains = up.filter(x => x.draining).length, senders = up.filter(x => x.state === "sender").length, sum = (what) => up.reduce((s, x) => s + x.tasks[what], 0);
	$("sum").replaceChildren(make("b", {}, `${up.length} of ${nodes.length}`), ` nodes up · `, make("b", {}, senders), ` sender${senders === 1 ? "" : "s"} · `,
		make("b", {}, sum("guest")), " guests", ...(drains ? [" · ", make("b", {}, drains), " draining"] : []));
	say($("live"), `live · ${clock(Date.now())}`);
	const codes = new Set(nodes.map(x => x.code));
	for (const [code, r] of rows)
		if (!codes.has(code)) {
			r.tr.remove();
			rows.delete(code);
		}
	for (const node of nodes) {
		showNode(node);
		if (above(node.code) !== null)
			showGroup(above(node.code));
	}
	for (const g of groups.values())
		g.box.hidden = !nodes.some(x => x.code.startsWith(g.code + ".")) ;
	filter();
	counts($("placed"), status.placed || [], "executor", x => host(x, "executor"));
	counts($("reasons"), status.reasons || [], "reason", x => x.reason);
	draw();
}
async function look() {
	try {
		status = clean(await ask("api/status"));
		for (const node of status.nodes) {
			const loads = past.get(node.code) || [];
			loads.push(node.agent === "up" ? node.load : null);
			past.set(node.code, loads.slice(-KEPT));
		}
		$("trouble").hidden = true;
		if (status.revoked_by) {
			say($("trouble"), `This host was put out of the cluster, says ${status.revoked_by}.`);
			$("trouble").hidden = false;
		}
		$("main").className = "";
		show();
	} catch (e) {
		if (!(e instanceof Error) || e instanceof TypeError || e instanceof ReferenceError)
			console.error(e);
		say($("trouble"), e.message + (status ? ". What is shown is older." : ""));
		$("trouble").hidden = false;
		$("main").className = "stale";
		say($("live"), "not live");
	}
}
start(() => every(EVERY, look));
addEventListener("resize", () => { if (status) draw(); });
