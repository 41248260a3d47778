// SPDX-License-Identifier: GPL-2.0-or-later
#include "cluster/pair.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eh/topology.h"
#include "wire/clean.h"

#define PAIR_SKEW_MS 2000
#define PAIR_EXPIRY_DAYS 14
#define PAIR_DAY 86400
#define PAIR_TEXT 512

/* ---- which ---- */

/* Whether it is the lowest of its group of this level. */
static bool pair_leads(const struct eh_topology *t, const uint32_t *nodes, size_t i,
		       unsigned int level)
{
	return !i || nodes[i - 1] >> t->n * level != nodes[i] >> t->n * level;
}

bool pair_is_tested(const struct eh_topology *t, const uint32_t *nodes, size_t n, size_t i,
		    size_t j)
{
	unsigned int level = 1;

	if (i == j)
		return false;
	if (n <= PAIR_ALL)
		return true;
	while (level < t->l && nodes[i] >> t->n * level != nodes[j] >> t->n * level)
		level++;
	return pair_leads(t, nodes, i, level - 1) && pair_leads(t, nodes, j, level - 1);
}

int64_t pair_skew(int64_t sent, int64_t back, int64_t theirs, int64_t *within)
{
	const int64_t half = back > sent ? (back - sent + 1) / 2 : 0;

	*within = half;
	return theirs - (sent + half);
}

/* ---- what is wrong ---- */

enum pair_level { PAIR_NOTE, PAIR_WARNING, PAIR_ERROR };

static const char *const pair_levels[] = { "note", "warning", "error" };

struct pair_fix {
	const char *name;
	enum pair_level level;
	const char *fix;
};

static const struct pair_fix pair_port = {
	"port", PAIR_ERROR,
	"start the agent of the second host; let its port through in the firewalls of both hosts and between them, in "
	"this direction; check routes"
};
static const struct pair_fix pair_certificate = {
	"certificate", PAIR_ERROR,
	"run `ehctl doctor` on both hosts: each needs a certificate of the same authority, with its own name, and the "
	"right time"
};
static const struct pair_fix pair_refused = {
	"refused", PAIR_ERROR,
	"run `ehctl doctor` on both hosts, and see the log of the second one's agent"
};
static const struct pair_fix pair_protocol = {
	"version", PAIR_ERROR,
	"upgrade the host that is too old (docs/operations.md, \"Upgrade a cluster\")"
};
static const struct pair_fix pair_release = {
	"version", PAIR_NOTE,
	"upgrade the older one when it suits (docs/operations.md, \"Upgrade a cluster\")"
};
static const struct pair_fix pair_ends = {
	"certificate", PAIR_WARNING,
	"on the second host: see `ehctl doctor`, or make a certificate with `ehctl cert node`, then `systemctl reload "
	"ehagent`"
};
static const struct pair_fix pair_clock = {
	"clock", PAIR_WARNING, "run a time service on all hosts (chrony, systemd-timesyncd)"
};
static const struct pair_fix pair_name = {
	"name", PAIR_WARNING,
	"on the first host: correct /etc/hosts or the name service (`getent ahosts NAME` shows what it says)"
};
static const struct pair_fix pair_no_name = {
	"name", PAIR_NOTE,
	"nothing, if only ehsched is used between these hosts, which needs no names; for programs of MPI and the like "
	"add it to /etc/hosts or the name service of the first host"
};
static const struct pair_fix pair_late = {
	"name", PAIR_WARNING,
	"on the first host: `getent ahosts NAME` shows if its name services answer; see nsswitch.conf(5)"
};
static const struct pair_fix pair_address = {
	"address", PAIR_WARNING,
	"let it through in firewalls, or take the address out of the name service: programs that try it first wait"
};
static const struct pair_fix pair_user = {
	"user", PAIR_WARNING,
	"give the user the same name and number on both hosts; or see user-map in ehagent.conf(5)"
};

static void __attribute__((format(printf, 3, 4)))
pair_add(json_t *checks, const struct pair_fix *f, const char *format, ...)
{
	char said[PAIR_TEXT], what[PAIR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	/* It may have been cut within a character. */
	clean_text(what, sizeof(what), said);
	json_array_append_new(checks,
			      json_pack("{s:s,s:b,s:s,s:s,s:s}", "name", f->name, "ok", 0, "level",
					pair_levels[f->level], "what", what, "fix", f->fix));
}

static const char *pair_text(const json_t *facts, const char *member)
{
	return json_string_value(json_object_get(facts, member));
}

/* The strings of a list, with commas; "": there are none. */
static const char *pair_list(const json_t *list, char *out, size_t size)
{
	const json_t *one;
	size_t i, used = 0;

	*out = '\0';
	json_array_foreach((json_t *)list, i, one)
		if (json_is_string(one) && used < size)
			used += snprintf(out + used, size - used, "%s%s", used ? ", " : "",
					 json_string_value(one));
	return out;
}

static void pair_judge_connection(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	static const struct {
		const char *stage;
		const struct pair_fix *fix;
		const char *what;
	} stages[] = {
		{ "port", &pair_port, "cannot be reached" },
		{ "certificate", &pair_certificate, "the certificates do not fit" },
		{ "version", &pair_protocol, "they have no protocol in common" },
		{ "refused", &pair_refused, "no answer to use" },
	};
	const size_t last = sizeof(stages) / sizeof(*stages) - 1;
	size_t i = 0;

	if (!json_object_get(facts, "failed"))
		return;
	/* one that a later version knows is a failure, too */
	while (i < last && strcmp(pair_text(facts, "failed") ?: "", stages[i].stage))
		i++;
	pair_add(checks, stages[i].fix, "%s (%s): %s: %s", n->to, n->address, stages[i].what,
		 pair_text(facts, "trouble") ?: "no reason known");
}

static void pair_judge_certificate(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	const json_t *seconds = json_object_get(facts, "certificate_seconds");
	const json_int_t left = json_integer_value(seconds);

	if (json_is_integer(seconds) && left < PAIR_EXPIRY_DAYS * PAIR_DAY)
		pair_add(checks, &pair_ends,
			 "that of %s, or one above it, ends in %lld days, by the clock of %s",
			 n->to, (long long)left / PAIR_DAY, n->from);
}

static void pair_judge_clock(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	const json_int_t skew = json_integer_value(json_object_get(facts, "skew_ms"));
	const json_int_t within = json_integer_value(json_object_get(facts, "within_ms"));
	const double off = skew < 0 ? -(double)skew : (double)skew;

	if (off - (within > 0 ? (double)within : 0) > PAIR_SKEW_MS)
		pair_add(checks, &pair_clock, "that of %s is %.3f s %s that of %s, within %.3f s",
			 n->to, off / 1000, skew < 0 ? "behind" : "ahead of", n->from,
			 (double)within / 1000);
}

static void pair_judge_name(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	const json_t *names = json_object_get(facts, "addresses");
	char list[PAIR_TEXT / 2];

	if (json_is_array(names) && json_array_size(names) &&
	    json_is_false(json_object_get(facts, "named")))
		pair_add(checks, &pair_name,
			 "for %s the name %s leads to %s, but the node is known by %s", n->from,
			 n->to, pair_list(names, list, sizeof(list)), n->address);
	if (json_is_null(names))
		pair_add(checks, &pair_late,
			 "%s: not looked up, as the name services of %s do not answer in time",
			 n->to, n->from);
	if (json_array_size(json_object_get(facts, "silent")))
		pair_add(checks, &pair_address,
			 "%s: nothing answers at %s, which is one of its addresses", n->to,
			 pair_list(json_object_get(facts, "silent"), list, sizeof(list)));
}

static void pair_judge_users(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	const json_t *users = json_object_get(facts, "unknown_users"), *one;
	const json_int_t others = json_integer_value(json_object_get(facts, "unknown_others"));
	size_t i;

	json_array_foreach((json_t *)users, i, one)
		if (json_is_string(one))
			pair_add(checks, &pair_user, "%s", json_string_value(one));
	if (others > 0)
		pair_add(
			checks, &pair_user,
			"users with tasks of %s who are others on %s, or unknown: %lld (`ehctl doctor --pairs` on %s names them)",
			n->from, n->to, (long long)others, n->from);
}

static void pair_judge_notes(const json_t *facts, const struct pair_names *n, json_t *checks)
{
	const char *ours = pair_text(facts, "from_release"), *theirs = pair_text(facts, "release");
	const json_t *names = json_object_get(facts, "addresses");

	if (json_is_integer(json_object_get(facts, "protocol")) && strcmp(ours ?: "", theirs ?: ""))
		pair_add(checks, &pair_release, "%s has %s%s, %s %s%s; they use protocol %lld",
			 n->to, theirs ? "ehsched " : "an earlier ehsched", theirs ?: "", n->from,
			 ours ? "ehsched " : "an earlier ehsched", ours ?: "",
			 (long long)json_integer_value(json_object_get(facts, "protocol")));
	if (json_is_array(names) && !json_array_size(names))
		pair_add(checks, &pair_no_name, "%s does not know the name %s", n->from, n->to);
}

json_t *pair_judge(const json_t *facts, const struct pair_names *n)
{
	json_t *checks = json_array();

	if (!checks)
		return NULL;
	pair_judge_connection(facts, n, checks);
	pair_judge_certificate(facts, n, checks);
	pair_judge_clock(facts, n, checks);
	pair_judge_name(facts, n, checks);
	pair_judge_users(facts, n, checks);
	pair_judge_notes(facts, n, checks);
	return checks;
}
