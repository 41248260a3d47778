// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines, in the order in which users and their programs were last used:
 *   ehsched-costs 1
 *   user UID
 *   host HASH SEEN RUNS USED MEAN DEV …       of the user above
 *   here HASH SEEN RUNS USED MEAN DEV …       each pair a value: time, processor time, memory, bytes
 *   away HASH …                               of the program that the line before has, or another
 *   alone HASH …
 *   end CHECKSUM
 */
#include "cost/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/entry.h"
#include "cost/table.h"

#define TEXT_HEAD "ehsched-costs 1\n"

static const char *const text_places[] = {
	[COST_HERE] = "here", [COST_AWAY] = "away", [COST_ALONE] = "alone"
};

static uint64_t text_sum(const char *text, size_t length)
{
	uint64_t sum = 0xcbf29ce484222325u;

	while (length--)
		sum = (sum ^ (unsigned char)*text++) * 0x100000001b3u;
	return sum;
}

/* ---- writing ---- */

struct text {
	char *at;
	size_t used;
};

static void __attribute__((format(printf, 2, 3))) text_add(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->used += vsnprintf(t->at + t->used, COST_TEXT_MAX - t->used, format, args);
	va_end(args);
}

static void text_add_runs(struct text *t, const char *kind, uint64_t name,
			  const struct cost_runs *r)
{
	text_add(t, "%s %016" PRIx64 " %" PRId64 " %u %u", kind, name, r->seen, r->runs, r->used);
	for (int i = 0; i < COST_WHATS; i++)
		text_add(t, " %" PRIu64 " %" PRIu64, r->of[i].mean, r->of[i].dev);
	text_add(t, "\n");
}

/* 4096 programs with three lines of at most 211 bytes, and 256 users with 16 hosts. */
_Static_assert((COST_PLACES * COST_ENTRIES + COST_USERS * (COST_HOSTS + 1)) * 212 < COST_TEXT_MAX,
	       "a table must fit into its text");

char *cost_write(const struct cost_table *table)
{
	struct text t = { .at = malloc(COST_TEXT_MAX) };
	const struct cost_entry *e;
	const struct cost_user *u;

	if (!t.at)
		return NULL;
	text_add(&t, TEXT_HEAD);
	TAILQ_FOREACH(u, &table->order, link) {
		text_add(&t, "user %u\n", u->uid);
		for (const struct cost_host *h = u->hosts; h < u->hosts + COST_HOSTS; h++)
			/* a run that was compared long after its transfer has outlived what is known */
			if (h->name && h->to.runs)
				text_add_runs(&t, "host", h->name, &h->to);
		TAILQ_FOREACH(e, &u->entries, link)
			for (int place = 0; place < COST_PLACES; place++)
				if (e->at[place].runs)
					text_add_runs(&t, text_places[place], e->name.key,
						      &e->at[place]);
	}
	text_add(&t, "end %016" PRIx64 "\n", text_sum(t.at, t.used));
	return t.at;
}

/* ---- reading ---- */

/* A number up to `most`, in figures alone, and the byte behind it. */
static bool text_number(const char **at, unsigned int base, uint64_t most, char behind,
			uint64_t *out)
{
	static const char figures[] = "0123456789abcdef";
	const char *figure, *begin = *at;
	uint64_t n = 0;

	for (; **at && (figure = memchr(figures, **at, base)); ++*at) {
		if (n > (most - (figure - figures)) / base)
			return false;
		n = n * base + (figure - figures);
	}
	*out = n;
	return *at != begin && *(*at)++ == behind;
}

static bool text_word(const char **at, const char *word)
{
	const size_t n = strlen(word);

	if (strncmp(*at, word, n) || (*at)[n] != ' ')
		return false;
	*at += n + 1;
	return true;
}

/* What is behind the kind. */
static bool text_runs(const char **at, uint64_t *name, struct cost_runs *r)
{
	uint64_t seen, runs, used;

	if (!text_number(at, 16, UINT64_MAX, ' ', name) || !*name ||
	    !text_number(at, 10, INT64_MAX, ' ', &seen) ||
	    !text_number(at, 10, COST_RUNS, ' ', &runs) ||
	    !text_number(at, 10, COST_RUNS, ' ', &used) || !runs)
		return false;
	*r = (struct cost_runs){ .seen = seen, .runs = runs, .used = used };
	for (int i = 0; i < COST_WHATS; i++)
		if (!text_number(at, 10, COST_MOST, ' ', &r->of[i].mean) ||
		    !text_number(at, 10, COST_MOST, i < COST_WHATS - 1 ? ' ' : '\n', &r->of[i].dev))
			return false;
	return true;
}

static const char *text_read_host(struct cost_user *u, uint64_t name, const struct cost_runs *r)
{
	for (struct cost_host *h = u->hosts; h < u->hosts + COST_HOSTS; h++) {
		if (h->name == name)
			return "a host twice";
		if (h->name)
			continue;
		*h = (struct cost_host){ .name = name, .to = *r };
		return NULL;
	}
	return "too many hosts";
}

static const char *text_read_program(struct cost_table *t, struct cost_user *u, int place,
				     uint64_t name, const struct cost_runs *r)
{
	struct cost_entry *e = cost_entry_find(t, u->uid, name);

	if (e && e->at[place].runs)
		return "a program twice";
	if (!e && t->count == COST_ENTRIES)
		return "too many programs";
	e = cost_entry_get(t, u, name);
	if (!e)
		return "out of memory";
	e->at[place] = *r;
	return NULL;
}

/* What is wrong with the line; NULL: nothing. */
static const char *text_read_line(struct cost_table *t, struct cost_user **u, const char **at)
{
	struct cost_runs runs;
	uint64_t name;

	if (text_word(at, "user")) {
		if (!text_number(at, 10, UINT32_MAX, '\n', &name))
			return "not a user";
		if (t->nusers == COST_USERS)
			return "too many users";
		*u = cost_user_get(t, name);
		return *u ? NULL : "out of memory";
	}
	if (!*u)
		return "of no user";
	if (text_word(at, "host"))
		return text_runs(at, &name, &runs) ? text_read_host(*u, name, &runs)
						   : "not the runs of a host";
	for (int place = 0; place < COST_PLACES; place++)
		if (text_word(at, text_places[place]))
			return text_runs(at, &name, &runs)
				       ? text_read_program(t, *u, place, name, &runs)
				       : "not the runs of a program";
	return "not known";
}

struct cost_table *cost_read(const char *text, char why[COST_WHY])
{
	struct cost_table *t = cost_new();
	struct cost_user *u = NULL;
	const char *at = text, *line, *wrong = NULL;
	unsigned int number = 1;
	uint64_t sum;

	if (!t || strncmp(at, TEXT_HEAD, strlen(TEXT_HEAD))) {
		wrong = t ? "not of this version" : "out of memory";
		goto refuse;
	}
	at += strlen(TEXT_HEAD);
	for (number++;; number++) {
		line = at;
		if (text_word(&at, "end"))
			break;
		wrong = text_read_line(t, &u, &at);
		if (wrong)
			goto refuse;
	}
	/* all of its figures: one 0 less would be the same number */
	if (strlen(at) != 17 || !text_number(&at, 16, UINT64_MAX, '\n', &sum) || *at)
		wrong = "not the end";
	else if (sum != text_sum(text, line - text))
		wrong = "the checksum differs";
	if (!wrong)
		return t;
refuse:
	snprintf(why, COST_WHY, "line %u: %s", number, wrong);
	cost_free(t);
	return NULL;
}
