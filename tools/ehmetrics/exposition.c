// SPDX-License-Identifier: GPL-2.0-or-later
#include "exposition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eh/rule.h"

enum kind { GAUGE, COUNTER, INFO };

struct family {
	const char *name; /* without _total, _info */
	enum kind kind;
	const char *unit; /* the name ends with it; NULL: none */
	const char *help;
};

struct writer {
	FILE *out;
	enum exposition_format format;
	const struct family *family;
	json_t *said; /* labels that the family had: a scrape with a series twice is refused as a whole */
	const char *self, *self_host;
	bool own;
};

struct label {
	const char *name, *value;
};

/* ---- lines ---- */

static const char *writer_suffix(const struct family *f)
{
	static const char *const suffixes[] = { "", "_total", "_info" };

	return suffixes[f->kind];
}

static void writer_begin(struct writer *w, const struct family *f)
{
	static const char *const open[] = { "gauge", "counter", "info" };
	bool text = w->format == EXPOSITION_TEXT;

	w->family = f;
	json_object_clear(w->said);
	/* In the older format the family is called as its samples, and knows no type info. */
	fprintf(w->out, "# HELP %s%s %s\n", f->name, text ? writer_suffix(f) : "", f->help);
	fprintf(w->out, "# TYPE %s%s %s\n", f->name, text ? writer_suffix(f) : "",
		text && f->kind == INFO ? "gauge" : open[f->kind]);
	if (!text && f->unit)
		fprintf(w->out, "# UNIT %s %s\n", f->name, f->unit);
}

/* As the format wants it. The rest is clean: ask.c sees to that. */
static void writer_escape(FILE *to, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			putc('\\', to);
		putc(*value == '\n' ? 'n' : *value, to);
	}
}

/* Labels end with one without a name. */
static void writer_sample(struct writer *w, const struct label *labels, double value)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	for (const struct label *l = labels; l->name; l++) {
		fprintf(to, "%s%s=\"", l == labels ? "{" : ",", l->name);
		writer_escape(to, l->value ?: "");
		putc('"', to);
	}
	fputs(labels->name ? "}" : "", to);
	if (!fclose(to) && !json_object_get(w->said, text)) {
		json_object_set_new(w->said, text, json_true());
		fprintf(w->out, "%s%s%s %.15g\n", w->family->name, writer_suffix(w->family), text,
			value);
	}
	free(text);
}

/* A family of one number without labels. */
static void writer_alone(struct writer *w, const struct family *f, double value)
{
	const struct label none[] = { { 0 } };

	writer_begin(w, f);
	writer_sample(w, none, value);
}

static const char *text_in(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* ---- nodes ---- */

static const struct family node_up = {
	"ehsched_node_up",
	GAUGE,
	NULL,
	"Whether the agent of the node is connected: 1, or 0",
};
static const struct {
	struct family family;
	const char *member;
} node_values[] = {
	{ { "ehsched_node_load_tasks", GAUGE, "tasks",
	    "Load of the node; a task that always wants to run is 1" },
	  "load" },
	{ { "ehsched_node_threshold_tasks", GAUGE, "tasks", "Load that the node should have" },
	  "threshold" },
	{ { "ehsched_node_threshold_length_tasks", GAUGE, "tasks",
	    "How far the load may be from the threshold before tasks move" },
	  "threshold_length" },
	{ { "ehsched_node_capacity_tasks", GAUGE, "tasks",
	    "Share of the work that the node is meant to have, by default its processors" },
	  "capacity" },
	{ { "ehsched_node_draining", GAUGE, NULL, "Whether the node gets no new tasks: 1, or 0" },
	  "draining" },
	{ { "ehsched_node_module", GAUGE, NULL,
	    "Whether the kernel module is used on the node: 1, or 0" },
	  "module" },
};
static const struct family node_tasks = {
	"ehsched_node_tasks",
	GAUGE,
	"tasks",
	"Managed tasks: local (at home and here), guest (of other nodes), away (run elsewhere)",
};
static const struct family node_state = {
	"ehsched_node_state",
	GAUGE,
	NULL,
	"1 for the state that the node is in by its load, 0 for the others",
};
static const struct family node_groups = {
	"ehsched_node_controlled_groups",
	GAUGE,
	"groups",
	"Groups that the node is the controller of",
};

/* A number, or whether it is so; false: it is not known. */
static bool number(const json_t *value, double *out)
{
	if (!json_is_number(value) && !json_is_boolean(value))
		return false;
	*out = json_is_number(value) ? json_number_value(value) : json_is_true(value);
	return true;
}

static bool node_is_up(const json_t *node)
{
	return !strcmp(text_in(node, "agent") ?: "", "up");
}

static void node_sample(struct writer *w, const json_t *node, const char *more, const char *value,
			double x)
{
	const struct label labels[] = {
		{ "node", text_in(node, "code") },
		{ "host", text_in(node, "host") },
		{ more, value },
		{ 0 },
	};

	writer_sample(w, labels, x);
}

/* One of many nodes' samples of a family. */
typedef void (*node_fn)(struct writer *w, const json_t *node, const void *what);

static void node_each(struct writer *w, const json_t *nodes, const struct family *f, node_fn call,
		      const void *what)
{
	const json_t *node;
	size_t i;

	writer_begin(w, f);
	json_array_foreach((json_t *)nodes, i, node)
		if (text_in(node, "code") && (!w->own || !strcmp(text_in(node, "code"), w->self)))
			call(w, node, what);
}

static void node_write_up(struct writer *w, const json_t *node, const void *what)
{
	node_sample(w, node, NULL, NULL, node_is_up(node));
}

/* What is said of a node that does not answer is not known, and no sample. */
static void node_write_value(struct writer *w, const json_t *node, const void *member)
{
	double value;

	if (node_is_up(node) && number(json_object_get(node, member), &value))
		node_sample(w, node, NULL, NULL, value);
}

static void node_write_tasks(struct writer *w, const json_t *node, const void *what)
{
	static const char *const kinds[] = { "local", "guest", "away" };
	double value;

	for (int i = 0; i < 3 && node_is_up(node); i++)
		if (number(json_object_get(json_object_get(node, "tasks"), kinds[i]), &value))
			node_sample(w, node, "kind", kinds[i], value);
}

static void node_write_state(struct writer *w, const json_t *node, const void *what)
{
	for (int i = 0; i <= EH_STATES; i++) {
		const char *state = i < EH_STATES ? eh_state_names[i] : "unknown";

		node_sample(w, node, "state", state, !strcmp(text_in(node, "state") ?: "", state));
	}
}

static void node_write_groups(struct writer *w, const json_t *node, const void *what)
{
	if (node_is_up(node))
		node_sample(w, node, NULL, NULL,
			    json_array_size(json_object_get(node, "controller_of")));
}

static void write_nodes(struct writer *w, const json_t *nodes)
{
	node_each(w, nodes, &node_up, node_write_up, NULL);
	for (size_t i = 0; i < sizeof(node_values) / sizeof(*node_values); i++)
		node_each(w, nodes, &node_values[i].family, node_write_value,
			  node_values[i].member);
	node_each(w, nodes, &node_tasks, node_write_tasks, NULL);
	node_each(w, nodes, &node_state, node_write_state, NULL);
	node_each(w, nodes, &node_groups, node_write_groups, NULL);
}

/* ---- groups ---- */

static const struct {
	struct family family;
	const char *member;
} group_values[] = {
	{ { "ehsched_group_load_tasks", GAUGE, "tasks", "Sum of the loads in the group" }, "load" },
	{ { "ehsched_group_threshold_tasks", GAUGE, "tasks", "Sum of the thresholds in the group" },
	  "threshold" },
	{ { "ehsched_group_members", GAUGE, "members",
	    "Nodes or groups that report to the controller" },
	  "members" },
	{ { "ehsched_group_nodes", GAUGE, "nodes", "Nodes below the controller" }, "nodes" },
};

static void write_groups(struct writer *w, const json_t *groups)
{
	const json_t *group;
	char level[24];
	double value;
	size_t j;

	for (size_t i = 0; i < sizeof(group_values) / sizeof(*group_values); i++) {
		writer_begin(w, &group_values[i].family);
		json_array_foreach((json_t *)groups, j, group) {
			const struct label labels[] = {
				{ "group", text_in(group, "code") },
				{ "level", level },
				{ "node", text_in(group, "controller") },
				{ "host", text_in(group, "host") },
				{ 0 },
			};

			snprintf(level, sizeof(level), "%lld",
				 (long long)json_integer_value(json_object_get(group, "level")));
			if (number(json_object_get(group, group_values[i].member), &value))
				writer_sample(w, labels, value);
		}
	}
}

/* ---- what this node counts ---- */

static const struct family placed = {
	"ehsched_placed_tasks",
	COUNTER,
	"tasks",
	"Tasks of the node by where they ran, since its agent was started",
};
static const struct family decided = {
	"ehsched_decided_execs",
	COUNTER,
	"execs",
	"Execs of the node by the reason why they went or stayed, since its module was loaded",
};
static const struct family sent = {
	"ehsched_sent_messages",
	COUNTER,
	"messages",
	"Messages of the hierarchy that the node has sent",
};
static const struct family received = {
	"ehsched_received_messages",
	COUNTER,
	"messages",
	"Messages of the hierarchy that came to the node",
};

static void own_sample(struct writer *w, const struct label more[2], double value)
{
	const struct label labels[] = {
		{ "node", w->self }, { "host", w->self_host }, more[0], more[1], { 0 },
	};

	writer_sample(w, labels, value);
}

/* [{`name`: …, "tasks": number}]; with `host` the member NAME_host is a label too. */
static void write_list(struct writer *w, const struct family *f, const json_t *list,
		       const char *name, const char *host)
{
	const json_t *one;
	double value;
	size_t i;

	writer_begin(w, f);
	json_array_foreach((json_t *)list, i, one) {
		const struct label labels[2] = { { name, text_in(one, name) },
						 { host, host ? text_in(one, host) : NULL } };

		if (labels[0].value && number(json_object_get(one, "tasks"), &value))
			own_sample(w, labels, value);
	}
}

static void write_messages(struct writer *w, const struct family *f, const json_t *counts)
{
	const json_t *count;
	const char *type;
	double value;

	writer_begin(w, f);
	json_object_foreach((json_t *)counts, type, count) {
		const struct label labels[2] = { { "type", type }, { 0 } };

		if (number(count, &value))
			own_sample(w, labels, value);
	}
}

/* ---- what others hold of its agent ---- */

static const struct family limit_streams = {
	"ehsched_peer_limit_streams",
	GAUGE,
	"streams",
	"Streams of jobs and files that one other host may have open at this node",
};
static const struct family limit_bytes = {
	"ehsched_peer_limit_bytes",
	GAUGE,
	"bytes",
	"Memory that may be held for one other host",
};
static const struct family refused = {
	"ehsched_peer_refused_requests",
	COUNTER,
	"requests",
	"What was refused to another host, by the limit, since the agent of this node was started",
};
static const struct {
	struct family family;
	const char *member;
} peer_values[] = {
	{ { "ehsched_peer_open_streams", GAUGE, "streams",
	    "Streams of jobs and files that another host has open at this node" },
	  "streams" },
	{ { "ehsched_peer_held_bytes", GAUGE, "bytes",
	    "Memory that is held for another host, on its streams" },
	  "memory" },
	{ { "ehsched_peer_unanswered_requests", GAUGE, "requests",
	    "Requests of another host that are not answered yet" },
	  "requests" },
	{ { "ehsched_peer_unfinished_bytes", GAUGE, "bytes",
	    "Bodies of requests of another host that are not whole yet" },
	  "bodies" },
};

/* `peer` is the host: not all of them have a code. */
static void write_refused(struct writer *w, const json_t *peers)
{
	const json_t *peer, *count;
	const char *limit;
	double value;
	size_t i;

	writer_begin(w, &refused);
	json_array_foreach((json_t *)peers, i, peer) {
		json_object_foreach(json_object_get(peer, "refused"), limit, count) {
			const struct label labels[2] = { { "peer", text_in(peer, "host") },
							 { "limit", limit } };

			if (labels[0].value && number(count, &value))
				own_sample(w, labels, value);
		}
	}
}

static void write_quotas(struct writer *w, const json_t *quotas)
{
	const struct label none[2] = { { 0 } };
	const json_t *peers = json_object_get(quotas, "peers"), *peer;
	double value;
	size_t j;

	writer_begin(w, &limit_streams);
	if (number(json_object_get(quotas, "streams"), &value))
		own_sample(w, none, value);
	writer_begin(w, &limit_bytes);
	if (number(json_object_get(quotas, "memory"), &value))
		own_sample(w, none, value);
	for (size_t i = 0; i < sizeof(peer_values) / sizeof(*peer_values); i++) {
		writer_begin(w, &peer_values[i].family);
		json_array_foreach((json_t *)peers, j, peer) {
			const struct label labels[2] = { { "peer", text_in(peer, "host") }, { 0 } };

			if (labels[0].value &&
			    number(json_object_get(peer, peer_values[i].member), &value))
				own_sample(w, labels, value);
		}
	}
	write_refused(w, peers);
}

/* ---- all ---- */

static const struct family up = {
	"ehsched_up",
	GAUGE,
	NULL,
	"Whether the agent of this node has answered: 1, or 0",
};
static const struct family asked = {
	"ehsched_ask_seconds",
	GAUGE,
	"seconds",
	"How long the agent took to answer",
};
static const struct family agent = {
	"ehsched_agent",
	INFO,
	NULL,
	"The node that was asked, its controller, and the top of the hierarchy",
};
static const struct family epoch = {
	"ehsched_epoch",
	GAUGE,
	NULL,
	"Number of the change of thresholds that is in force",
};
static const struct family revoked = {
	"ehsched_revoked",
	GAUGE,
	NULL,
	"Whether this host was put out of the cluster: 1, or 0",
};

static void write_agent(struct writer *w, const json_t *status)
{
	const json_t *topology = json_object_get(status, "topology");
	char shape[48];
	struct label labels[] = {
		{ "node", w->self },
		{ "host", w->self_host },
		{ "topology", shape },
		{ "controller", text_in(status, "controller") },
		{ "top", text_in(status, "top") },
		{ 0 },
	};
	double value;

	snprintf(shape, sizeof(shape), "%lld,%lld",
		 (long long)json_integer_value(json_object_get(topology, "n")),
		 (long long)json_integer_value(json_object_get(topology, "l")));
	writer_begin(w, &agent);
	writer_sample(w, labels, 1);
	if (number(json_object_get(status, "epoch"), &value))
		writer_alone(w, &epoch, value);
	writer_alone(w, &revoked, json_object_get(status, "revoked_by") != NULL);
}

static void write_status(struct writer *w, const json_t *status)
{
	const json_t *messages = json_object_get(status, "messages");

	w->self = text_in(status, "self") ?: "";
	w->self_host = text_in(status, "self_host");
	write_agent(w, status);
	write_nodes(w, json_object_get(status, "nodes"));
	if (!w->own)
		write_groups(w, json_object_get(status, "groups"));
	write_list(w, &placed, json_object_get(status, "placed"), "executor", "executor_host");
	write_list(w, &decided, json_object_get(status, "reasons"), "reason", NULL);
	write_messages(w, &sent, json_object_get(messages, "sent"));
	write_messages(w, &received, json_object_get(messages, "received"));
	write_quotas(w, json_object_get(status, "quotas"));
}

char *exposition_write(const struct exposition_look *look, enum exposition_format format)
{
	struct writer w = { .format = format, .own = look->own, .said = json_object() };
	char *text = NULL;
	size_t size;
	int err;

	w.out = open_memstream(&text, &size);
	if (!w.out || !w.said)
		goto free_said;
	writer_alone(&w, &up, look->status != NULL);
	writer_alone(&w, &asked, look->seconds);
	if (look->status)
		write_status(&w, look->status);
	if (format == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", w.out);
free_said:
	json_decref(w.said);
	err = !w.out || ferror(w.out);
	if (w.out && fclose(w.out))
		err = 1;
	if (err) {
		free(text);
		return NULL;
	}
	return text;
}
