// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// ---- tasks and history, for callers with the key

function refused(e) {
	if (e.code !== 403)
		return;
	allowed = false;
	$("filters").hidden = $("failed").parentElement.hidden = $("stayed").parentElement.hidden = true;
	for (const id of ["no-tasks", "no-moves", "no-history"]) {
		$(id).hidden = false;
		say($(id), "Tasks are shown at the address that `ehctl metrics` has printed, to the user who started it.");
	}
}
function whyButton(id) {
	const button = make("button", {}, "why");
	button.addEventListener("click", () => why(id));
	return make("td", { class: "do" }, button);
}
function sessionButton(session) {
	const button = make("button", { title: "show its tasks over time", "aria-label": `session ${session}: show its tasks over time` }, session);
	button.addEventListener("click", () => showSession(session));
	return button;
}
// What is missing in a list of all nodes.
function missing(reply) {
	const names = [...(reply.silent || []), ...(reply.refused || [])].map(x => host(x, "node"));
	return names.length ? `without ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}` : "";
}
// "n0 → n4", or where it is if that is its home.
function way(t) {
	return t.home === t.executor ? host(t, "home") : `${host(t, "home")} → ${host(t, "executor")}`;
}
async function showTasks() {
	if (!allowed)
		return;
	try {
		const reply = await ask("api/tasks"), list = reply.tasks;
		$("tasks").tBodies[0].replaceChildren(...list.slice(0, LIST).map(t => make("tr", {}, make("td", { class: "cmd", title: t.command }, t.command), make("td", {}, host(t, "home")),
			make("td", {}, `${t.home === t.executor ? "" : "→ "}${host(t, "executor")}`), make("td", {}, t.state), make("td", { class: "n" }, span(t.elapsed)), whyButton(t.id))));
		$("tasks").hidden = !list.length;
		$("no-tasks").hidden = list.length > 0;
		say($("count"), [list.length > LIST ? `${LIST} of ${list.length}` : list.length || "", missing(reply)].filter(Boolean).join(", "));
	} catch (e) {
		refused(e);
	}
}
const END = { here: "runs", away: "runs", lost: "lost", refused: "refused", unknown: "not known" };
function historyEnd(t) {
	const text = END[t.state] || (typeof t.signal === "number" ? `signal ${t.signal}` : typeof t.exit === "number" ? `exit ${t.exit}` : "ended");
	const bad = ["lost", "refused"].includes(t.state) || t.signal || t.exit;
	return make("td", bad ? { class: "bad" } : {}, (bad ? "✕ " : "") + text);
}
function historyRow(t) {
	const cpu = typeof t.cpu_user === "number" ? (t.cpu_user + (t.cpu_system || 0)).toFixed(2) : "–";
	return make("tr", { "data-id": t.id }, make("td", {}, make("time", {}, day(t.started))), make("td", { class: "user", hidden: "" }, t.user || t.uid), make("td", { class: "cmd", title: `${t.program || t.command} ${t.arguments || ""}` }, t.command),
		make("td", {}, way(t)), historyEnd(t), make("td", { class: "n" }, number(t.elapsed)), make("td", { class: "n x" }, cpu),
		make("td", { class: "x" }, t.reason || "–"), make("td", {}, t.session ? sessionButton(t.session) : "–"), whyButton(t.id));
}
// What is asked for, as `ehctl history` has it.
const FILTERS = [...document.querySelectorAll("[data-filter]")];
function filters() {
	const words = new URLSearchParams();
	for (const input of FILTERS)
		if (input.value.trim())
			words.set(input.dataset.filter, input.value.trim());
	if ($("failed").checked)
		words.set("failed", "1");
	return words;
}
function offer(list, names) {
	if (list.dataset.names !== names.join(" ")) {
		list.dataset.names = names.join(" ");
		list.replaceChildren(...names.map(value => make("option", { value })));
	}
}
let oldest = 0, pages = 1;
async function showHistory(more = false) {
	if (!allowed || (!more && pages > 1))
		return;
	try {
		const words = filters(), any = words.size > 0, body = $("history").tBodies[0];
		const reply = await ask(`api/history?limit=25&${words}${more ? `&before=${oldest}` : ""}`);
		// an answer to what was asked before
		if (String(words) !== String(filters()))
			return;
		// those of the moment at which the page before has ended come again
		const known = new Set(more ? [...body.rows].map(x => x.dataset.id) : []), list = reply.tasks.filter(t => !known.has(t.id)).map(historyRow);
		if (more) body.append(...list); else body.replaceChildren(...list);
		pages = more ? pages + 1 : 1;
		if (reply.tasks.length)
			oldest = reply.tasks[reply.tasks.length - 1].at;
		$("older").hidden = !reply.more || (more && !list.length);
		say($("without"), missing(reply));
		$("history").hidden = !body.children.length;
		$("no-history").hidden = body.children.length > 0;
		say($("no-history"), any ? "No task is so." : "No task has run yet.");
		// users matter where there are several
		const users = [...body.querySelectorAll(".user")], several = new Set(users.map(x => x.textContent)).size > 1;
		for (const cell of [$("c-user"), ...users])
			cell.hidden = !several;
		offer($("l-sessions"), [...new Set(reply.tasks.map(t => t.session).filter(Boolean))]);
		offer($("l-nodes"), status ? status.nodes.map(x => x.host) : []);
	} catch (e) {
		refused(e);
		if (e.code !== 403) {
			$("history").hidden = $("older").hidden = true;
			$("no-history").hidden = false;
			say($("no-history"), e.code === 400 ? e.message : `No history: ${e.message}`);
		}
	}
}
$("older").addEventListener("click", () => showHistory(true));
function filterHistory() {
	pages = 1;
	$("f-clear").parentElement.hidden = filters().size === 0;
	$("f-chart").hidden = !$("f-session").value.trim();
	showHistory();
}
let typed;
for (const input of FILTERS)
	input.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(filterHistory, 300); });
$("failed").addEventListener("change", filterHistory);
$("f-chart").addEventListener("click", () => showSession($("f-session").value.trim()));
$("f-clear").addEventListener("click", () => {
	for (const input of FILTERS)
		input.value = "";
	$("failed").checked = false;
	filterHistory();
});
start(() => {
	$("history").hidden = $("tasks").hidden = true;
	if (!allowed)
		refused({ code: 403 });
	every(3000, showTasks);
	every(15000, () => showHistory());
});

// ---- why

async function why(id) {
	say($("h-why"), "Why");
	$("because").replaceChildren(make("p", { class: "faint" }, "asking …"));
	if (!$("why").open)
		$("why").showModal();
	try {
		const w = await ask(`api/why?id=${encodeURIComponent(id)}`);
		say($("h-why"), `${w.command}: ${w.home === w.executor ? `on ${host(w, "home")}` : `${host(w, "home")} → ${host(w, "executor")}`}`);
		$("because").replaceChildren(make("p", {}, make("b", {}, w.reason), ` – ${w.text}`), make("p", { class: "faint" }, `task ${w.id}`),
			make("ol", {}, ...w.steps.map(s => make("li", {}, make("time", { class: "n" }, `${number(s.at_ms, 1)} ms`), make("span", { class: "what" }, s.what)))));
	} catch (e) {
		$("because").replaceChildren(make("p", {}, e.message));
	}
}
$("close").addEventListener("click", () => $("why").close());
$("why").addEventListener("click", e => { if (e.target === $("why")) $("why").close(); });
