// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// ---- events

// `first`: what comes happened before now
let after = 0, first = true;
const moves = new Map();
function ended(e) {
	if (e.lost) return "lost";
	return typeof e.signal === "number" ? `killed by signal ${e.signal}` : `exit ${e.exit}`;
}
function keep(list, item, none) {
	list.prepend(item);
	while (list.children.length > LIST)
		list.lastElementChild.remove();
	none.hidden = true;
	if (!first)
		item.classList.add("new");
}
function showMove(e) {
	const away = e.home !== e.executor, button = make("button", {}, "why"), more = make("span", { class: "more" }, ` ${e.reason} `);
	const item = make("li", { "data-id": e.id, "data-away": away ? "1" : "0" }, make("time", {}, clock(e.time)),
		make("span", { class: "what" }, make("b", {}, e.command), ` ${host(e, "home")} ${away ? "→" : "stays: runs on"} ${host(e, "executor")}`, more, button));
	button.addEventListener("click", () => why(e.id));
	item.hidden = !away && !$("stayed").checked;
	moves.set(e.id, { more, reason: e.reason });
	keep($("moves"), item, $("no-moves"));
	$("no-moves").hidden = [...$("moves").children].some(x => !x.hidden);
	if (away)
		arcs = [...arcs.slice(-LIST), { home: e.home, executor: e.executor, at: first ? Date.parse(e.time) || 0 : Date.now() }];
}
$("stayed").addEventListener("change", () => {
	for (const item of $("moves").children)
		item.hidden = item.dataset.away === "0" && !$("stayed").checked;
	$("no-moves").hidden = [...$("moves").children].some(x => !x.hidden);
});
// Events of other nodes say whose they are.
function teller(e) {
	return e.self ? host(e, "self") : "this node";
}
const TEXT = {
	state: e => [SIGN[e.state] || "", ` ${host(e, "node")} is ${e.state}, load ${number(e.load)}`],
	threshold: e => ["", `threshold of ${host(e, "node")} is ${number(e.threshold)} ± ${number(e.threshold_length)}`],
	peer: e => [e.agent === "up" ? "●" : "✕", ` ${host(e, "node")} is ${e.agent}`],
	controller: e => ["", e.levels ? `${teller(e)} leads ${some(e.levels, "level")}${e.parent ? `, under ${host(e, "parent")}` : ""}` : `${teller(e)} reports to ${host(e, "parent")}`],
	join: e => ["", `${e.host} joined as ${e.node}`],
	leave: e => ["", `${e.host} left`],
	certificate: e => ["", `${e.host} got a certificate`],
	revoked: e => ["✕", ` ${e.host} was revoked`],
	drain: e => ["‖", ` ${host(e, "node")} ${e.draining ? "drains" : "takes tasks again"}${e.reason ? `: ${e.reason}` : ""}${e.by ? ` (${e.by})` : ""}`],
	start: e => ["●", ` the agent of ${host(e, "node")} has started`],
	stop: e => ["✕", ` the agent of ${host(e, "node")} ends`],
	reload: e => e.refused ? ["✕", ` ${teller(e)} refused its configuration: ${e.refused}`] : ["", `${teller(e)} has a new configuration`],
	launcher: e => e.runs ? ["●", ` ${teller(e)} has its launcher again`] : ["✕", ` ${teller(e)} has lost its launcher`],
	module: e => e.loaded ? ["●", ` ${teller(e)} has the module`] : ["✕", ` ${teller(e)} is without the module`],
	lost: e => ["", `${e.count} events were not kept for this page`],
};
function showEvent(e) {
	const [sign, text] = (TEXT[e.event] || (x => ["", x.event]))(e);
	keep($("events"), make("li", {}, make("time", {}, clock(e.time)), make("span", { class: "what" }, sign, text)), $("no-events"));
}
function take(e) {
	if (e.event === "place") {
		showMove(e);
	} else if (e.event === "finish") {
		const m = moves.get(e.id);
		if (m)
			say(m.more, ` ${m.reason}, ${ended(e)} `);
	} else {
		showEvent(e);
		return;
	}
	soon();
}
let waits = false;
function soon() {
	if (waits)
		return;
	waits = true;
	setTimeout(() => {
		waits = false;
		if (status && arcs.length)
			draw();
		showTasks();
		showHistory();
	}, first ? 0 : 300);
}
// An EventSource cannot send the key as a header, and the key is not for addresses: so this reads the stream itself.
function takeMessage(text) {
	const fields = Object.fromEntries(text.split("\n").map(line => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
	if (fields.id)
		after = fields.id;
	if (fields.event === "now")
		first = false;
	else if (fields.event === "lost")
		showEvent({ event: "lost", time: Date.now(), count: fields.data });
	else if (fields.data)
		take(JSON.parse(fields.data));
}
let stream = null;      // how to end it
async function listen() {
	const end = stream = new AbortController();
	let text = "", timer;
	try {
		const reply = await fetch("api/events", { cache: "no-store", signal: end.signal,
			headers: { Accept: "text/event-stream", "Last-Event-ID": after, ...(key ? { "X-Ehsched-Key": key } : {}) } });
		if (!reply.ok)
			throw new Error(reply.statusText);
		const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
		for (;;) {
			// a sign of life comes each 15 s
			timer = setTimeout(() => end.abort(), 40000);
			const part = await reader.read();
			clearTimeout(timer);
			if (part.done)
				break;
			const messages = (text + part.value).split("\n\n");
			text = messages.pop();
			messages.forEach(takeMessage);
		}
	} catch (e) {
		// the status says so
		if (e instanceof SyntaxError || e instanceof ReferenceError)
			console.error(e);
	}
	clearTimeout(timer);
	if (stream === end)
		stream = null;
	if (!document.hidden)
		setTimeout(() => stream || listen(), 1000);
}
// A browser has few connections to one host: a page that nobody sees holds none.
document.addEventListener("visibilitychange", () => {
	if (!document.hidden && !stream)
		listen();
	else if (document.hidden && stream)
		stream.abort();
});
start(listen);
