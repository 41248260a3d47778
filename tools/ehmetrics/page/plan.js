// SPDX-License-Identifier: GPL-2.0-or-later
"use strict";
// ---- plans: a file that this page reads by itself and sends nowhere

const PLAN_BYTES = 16 << 20, PLAN_BARS = 5000;
class PlanError extends Error {}
const figure = x => typeof x === "number" ? exact(x) : "–";
const isMap = x => x !== null && typeof x === "object" && !Array.isArray(x);

// Text, a number, a list of maps: or it says what is wrong, and where.
function textAt(of, name, at) {
	if (typeof of[name] !== "string")
		throw new PlanError(`${at}: “${name}” is missing, or is no text`);
	return of[name].slice(0, 256);
}
function numberAt(of, name, at) {
	if (typeof of[name] !== "number" || !isFinite(of[name]))
		throw new PlanError(`${at}: “${name}” is missing, or is no number`);
	return of[name];
}
function listOfMaps(of, name) {
	if (!Array.isArray(of[name]) || !of[name].every(isMap))
		throw new PlanError(`“${name}” is missing, or is no list of objects`);
	if (!of[name].length)
		throw new PlanError(`“${name}” is empty: there is nothing to be drawn`);
	return of[name];
}
function planBar(row, name, times, at, end = "planned", text = "") {
	const near = x => x < 0 && x > -1e-6 ? 0 : x, from = near(numberAt(times, "start", at)), to = near(numberAt(times, "finish", at));
	if (from < 0)
		throw new PlanError(`${at}: it starts at ${from}, before the plan does`);
	if (to < from)
		throw new PlanError(`${at}: it finishes at ${to}, before it starts at ${from}`);
	return { row, name, from, to, end, text };
}

// ehctl plan dag
function planDag(p) {
	const bars = listOfMaps(p, "schedule").map((x, i) => planBar(textAt(x, "processor", `schedule[${i}]`), textAt(x, "task", `schedule[${i}]`), x, `schedule[${i}]`));
	const messages = Array.isArray(p.messages) ? p.messages.length : 0;
	return { title: `plan of ${some(bars.length, "task")}`, charts: [{ title: `${figure(p.makespan)} in all; at least ${figure(p.lower_bound)}${p.optimal === true ? ": optimal" : ""}`, bars, seconds: false }],
		notes: messages ? [`${some(messages, "message")} between processors: not drawn.`] : [] };
}
// ehctl plan divide
function planDivide(p) {
	const all = listOfMaps(p, "processors"), bars = [], idle = [];
	all.forEach((x, i) => {
		const id = textAt(x, "id", `processors[${i}]`), share = numberAt(x, "share", `processors[${i}]`);
		if (x.start === null || x.start === undefined)
			idle.push(id);
		else
			bars.push(planBar(id, `share ${exact(share)}`, x, `processors[${i}]`));
	});
	const notes = idle.length ? [`Not used: ${idle.slice(0, 20).join(", ")}${idle.length > 20 ? ", …" : ""}.`] : [];
	return { title: "plan of a divided load", charts: [{ title: `${figure(p.seconds)} s on ${bars.length} of ${all.length} processors`, bars }], notes };
}
// ehctl plan gang: all hosts begin and end together
function planGang(p) {
	if (!Array.isArray(p.hosts) || !p.hosts.length || !p.hosts.every(x => typeof x === "string"))
		throw new PlanError("“hosts” is missing, or is no list of names");
	const all = numberAt(p, "seconds", "the plan"), of = isMap(p.parts) ? p.parts : {}, take = name => typeof of[name] === "number" && of[name] > 0 ? of[name] : 0;
	const load = take("load"), comm = take("comm"), collect = take("collect"), works = Math.max(0, all - load - comm - collect);
	const parts = [["load", load, "data"], ["compute", works, "planned"], ["communicate", comm, "data"], ["collect", collect, "data"]];
	const bars = p.hosts.flatMap(row => {
		let from = 0;
		return parts.filter(([, takes]) => takes > 0).map(([name, takes, end]) => ({ row, name, from, to: from += takes, end, text: "" }));
	});
	return { title: `plan of a gang of ${p.hosts.length}`, charts: [{ title: `${figure(all)} s, ${figure(p.speedup)} times as fast as one host`, bars }], notes: ["Shares of the slowest host; the others wait for it."] };
}
// ehctl plan assign: what runs where, and not when
function planAssign(p) {
	const rows = listOfMaps(p, "processors").map((x, i) => [textAt(x, "id", `processors[${i}]`), ...["work", "comm", "cost"].map(name => exact(numberAt(x, name, `processors[${i}]`)))]);
	const tasks = Object.entries(isMap(p.assignment) ? p.assignment : {}), at = id => tasks.filter(([, where]) => where === id).map(([task]) => task);
	return { title: "plan of an assignment", charts: [], notes: ["This plan has no times: it says where tasks run, not when. So there is no chart."],
		table: { head: ["processor", "work", "communication", "cost", "tasks"], rows: rows.map(x => [...x, at(x[0]).slice(0, 50).join(", ") + (at(x[0]).length > 50 ? ", …" : "") || "–"]) } };
}

// What ehctl dag, divide and gang print: what was predicted, and what it took
const STATES_OF_RUN = { done: "done", failed: "failed", "done-earlier": "done" };
function ranBoth(p, real, predicted, notes) {
	const length = Math.max(0, ...[...real, ...predicted].map(x => x.to)), charts = [], names = [...new Set([...real, ...predicted].map(x => x.row))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
	if (real.length)
		charts.push({ title: `What it took: ${figure(p.real)} s`, bars: real, length, names });
	if (predicted.length)
		charts.push({ title: `As it was predicted: ${figure(p.predicted)} s`, bars: predicted, length, names });
	if (!charts.length)
		throw new PlanError("no task has times: nothing ran, and nothing was predicted");
	return { charts, notes };
}
function ranDag(p) {
	const real = [], predicted = [];
	let none = 0;
	listOfMaps(p, "tasks").forEach((x, i) => {
		const name = textAt(x, "task", `tasks[${i}]`), put = (list, what, end, text) => list.push(planBar(textAt(x[what], "host", `tasks[${i}].${what}`), name, x[what], `tasks[${i}].${what}`, end, text));
		if (isMap(x.real))
			put(real, "real", STATES_OF_RUN[x.state] || "failed", x.code ? `code ${x.code}` : "");
		if (isMap(x.predicted))
			put(predicted, "predicted");
		none += !isMap(x.real);
	});
	return { title: `workflow ${typeof p.workflow === "string" ? p.workflow.slice(0, 256) : ""}`, ...ranBoth(p, real, predicted, none ? [`${some(none, "task")} of it did not run here.`] : []) };
}
function ranDivide(p) {
	const real = [], predicted = [];
	listOfMaps(p, "parts").forEach((x, i) => {
		const at = `parts[${i}]`, row = textAt(x, "host", at), name = `${x.probe === true ? "probe " : ""}${exact(numberAt(x, "count", at))} units`;
		// probes come before the plan: their times are below 0
		if (isMap(x.real) && x.real.start >= 0)
			real.push(planBar(row, name, x.real, `${at}.real`, "done"));
		if (isMap(x.predicted))
			predicted.push(planBar(row, name, x.predicted, `${at}.predicted`));
	});
	return { title: "divided load", ...ranBoth(p, real, predicted, []) };
}
function ranGang(p) {
	if (!Array.isArray(p.hosts) || !p.hosts.length || !p.hosts.every(x => typeof x === "string"))
		throw new PlanError("“hosts” is missing, or is no list of names");
	const bars = (to, end, text) => typeof to === "number" && isFinite(to) && to > 0 ? p.hosts.map(row => ({ row, name: "part of the gang", from: 0, to, end, text })) : [];
	const end = p.lost === true ? "lost" : p.status ? "failed" : "done";
	return { title: `gang of ${p.hosts.length}`, ...ranBoth(p, bars(p.real, end, p.status ? `status ${p.status}` : ""), bars(p.predicted, "planned", ""), []) };
}

function planOf(p) {
	if (!isMap(p))
		throw new PlanError("it is JSON, but no object");
	const planners = { dag: planDag, divide: planDivide, gang: planGang, assign: planAssign };
	if (typeof p.planner === "string" && Object.hasOwn(planners, p.planner))
		return planners[p.planner](p);
	if (Array.isArray(p.schedule))
		return planDag(p);
	if (typeof p.workflow === "string" && Array.isArray(p.tasks))
		return ranDag(p);
	if (Array.isArray(p.parts) && Array.isArray(p.workers))
		return ranDivide(p);
	if (Array.isArray(p.hosts) && Array.isArray(p.offered))
		return ranGang(p);
	if (isMap(p.workflow) || Array.isArray(p.edges) || Array.isArray(p.comm) || Array.isArray(p.processors) || isMap(p.model))
		throw new PlanError("it has no times: this is what a plan is made from. Open what the plan prints, as ehctl plan dag FILE --json >plan.json");
	throw new PlanError("it is no plan: there is neither “planner” nor “schedule” nor what ehctl dag, divide or gang print with --json");
}
async function planRead(file) {
	if (file.size > PLAN_BYTES)
		throw new PlanError(`it has ${Math.ceil(file.size / 1048576)} MiB, and more than ${PLAN_BYTES >> 20} are not read`);
	let document;
	try {
		document = JSON.parse(await file.text());
	} catch (e) {
		throw new PlanError(e instanceof SyntaxError ? `it is no JSON: ${e.message}` : "it cannot be read");
	}
	const plan = planOf(document), most = Math.max(0, ...plan.charts.map(x => x.bars.length));
	if (most > PLAN_BARS)
		throw new PlanError(`${most} bars are too many to be drawn (${PLAN_BARS})`);
	return plan;
}
async function planShow(file) {
	try {
		const plan = await planRead(file), { table } = plan, cell = (tag, x, i) => make(tag, { ...(tag === "th" ? { scope: "col" } : {}), ...(i > 0 && i < 4 ? { class: "n" } : {}) }, x);
		chartShow(`${plan.title} · ${file.name}`, ...plan.notes.map(x => make("p", { class: "note" }, x)), ...plan.charts.map(x => gantt(x)),
			...(table ? [make("div", { class: "scroll" }, make("table", { id: "assignment" }, make("thead", {}, make("tr", {}, ...table.head.map((x, i) => cell("th", x, i)))),
				make("tbody", {}, ...table.rows.map(row => make("tr", {}, ...row.map((x, i) => cell("td", x, i)))))))] : []));
	} catch (e) {
		if (!(e instanceof PlanError))
			throw e;
		chartTrouble("no plan", `${file.name}: ${e.message}.`);
	}
}
start(() => {
	$("plan-open").addEventListener("click", () => $("plan").click());
	$("plan").addEventListener("change", () => {
		const file = $("plan").files[0];
		// the same one may be opened again when it has changed
		if (file)
			planShow(file).finally(() => { $("plan").value = ""; });
	});
});
