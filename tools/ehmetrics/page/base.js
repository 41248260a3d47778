// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
const $ = id => document.getElementById(id);
const KEPT = 150, LIST = 100, EVERY = 2000, DRAWN = 64, ARC = 6000;
const SIGN = { sender: "▲", ok: "●", receiver: "▼", draining: "‖", down: "✕", unknown: "✕" };
const SVG = "http://www.w3.org/2000/svg";

// ---- elements

function make(tag, attributes = {}, ...inside) {
	const e = attributes.svg || tag.startsWith("svg:") ? document.createElementNS(SVG, tag.replace("svg:", "")) : document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		if (value !== null && value !== undefined)
			e.setAttribute(name, value);
	e.append(...inside.filter(x => x !== null && x !== undefined));
	return e;
}
function say(e, text) { text = String(text); if (e.textContent !== text) e.textContent = text; }
const number = (x, digits = 2) => typeof x === "number" ? x.toFixed(digits) : "–";
const some = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const two = x => String(x).padStart(2, "0");
function clock(text) {
	const t = new Date(text);
	return isNaN(t) ? "–" : `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}
function day(text) {
	const t = new Date(text), today = new Date();
	return t.toDateString() === today.toDateString() ? clock(text) : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(text)}`;
}
function span(s) {
	if (typeof s !== "number") return "–";
	s = Math.round(s);
	return s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}
const host = (object, member) => object[member === "node" ? "host" : member + "_host"] || object[member] || "–";

// ---- the process that has sent this page

let key = location.hash.slice(1), allowed = !!key;
window.addEventListener("hashchange", () => location.reload());
async function ask(path) {
	let reply, body;
	try {
		reply = await fetch(path, { headers: key ? { "X-Ehsched-Key": key } : {}, cache: "no-store", signal: AbortSignal.timeout(20000) });
		body = await reply.json();
	} catch (e) {
		throw new Error("ehctl metrics does not answer: start it again");
	}
	if (!reply.ok)
		throw Object.assign(new Error(body.error ? body.error.why : reply.statusText), { code: reply.status });
	return body;
}
// When all parts of the page are there.
function start(what) { document.addEventListener("DOMContentLoaded", what); }
function every(ms, what) {
	const go = async () => {
		if (!document.hidden)
			await what();
		setTimeout(go, ms);
	};
	go();
}
