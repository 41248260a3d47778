// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The small parsers, each with the same text: times, short ids, names of hosts, addresses, versions, reasons, rules of
 * a site; and what makes the text of a user fit for others' terminals and tables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cluster/address.h"
#include "cluster/naming.h"
#include "cluster/shortid.h"
#include "cluster/versions.h"
#include "wire/clean.h"
#include "history/csv.h"
#include "history/when.h"
#include "input.h"
#include "site/label.h"
#include "site/node.h"
#include "site/what.h"
#include "site/who.h"
#include "wire/reason.h"
#include "wire/terminal.h"
#include "wire/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 12

static void times(const char *text)
{
	time_t out;
	int err = when_parse(text, 1800000000, &out);

	must(!err || err == -EINVAL);
}

static void shown(const char *text, const char *const *words)
{
	char out[64], field[256];

	for (size_t room = 0; room <= sizeof(out); room += 21) {
		clean_text(out, room, text);
		must(!room || strlen(out) < room);
		for (const unsigned char *c = (unsigned char *)out; room && *c; c++)
			must(*c >= ' ' && *c != 127);
		/* What is clean stays as it is. */
		if (room) {
			clean_text(field, sizeof(field), out);
			must(!strcmp(field, out));
		}
		clean_words(out, room, words);
		must(!room || strlen(out) < room);
	}
	if (csv_field(field, sizeof(field), text) < sizeof(field))
		must(!strpbrk(text, ",\"\r\n") ||
		     (*field == '"' && field[strlen(field) - 1] == '"'));
	csv_is_formula(text);
}

static void ids(const char *const *words, size_t n)
{
	json_t *list = json_array();
	char why[48];

	/* What is not UTF-8 is no JSON. */
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(words[i]));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *whole = json_string_value(json_array_get(list, i));
		json_t *made = shortid_make(list, whole);
		const char *text = json_string_value(made),
			   *colon = text ? strrchr(text, ':') : NULL;
		const char *id = NULL;
		int err;

		/* What was made for an id stands for that one. */
		if (colon) {
			char *home = strndup(text, colon - text);

			err = shortid_find(list, home, text, &id, why, sizeof(why));
			must(!err && id && !strcmp(id, whole));
			free(home);
		}
		err = shortid_find(list, words[0], whole, &id, why, sizeof(why));
		must(!err || err == -ENOENT || err == -ENOTUNIQ);
		json_decref(made);
	}
	json_decref(list);
}

static void names(const char *const *words, size_t n)
{
	struct naming_nearest near = { .wanted = words[0] };
	struct address a, b, same;

	for (size_t i = 0; i < n; i++) {
		naming_try(&near, words[i]);
		naming_of(words[0], words[i]);
		must(naming_distance(words[0], words[i]) == naming_distance(words[i], words[0]));
		must(naming_distance(words[i], words[i]) == 0);
		if (address_parse(words[i], &a))
			continue;
		must(strlen(a.text) < sizeof(a.text) && a.length);
		address_from((struct sockaddr *)&a.sa, &b);
		must(!address_parse(b.text, &same) && !strcmp(same.text, b.text));
		address_is(&a, words[0]);
	}
}

static void others(const char *text, size_t length)
{
	json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	struct versions ours = VERSIONS_OF_AGENTS, theirs = versions_of(message);
	char said[VERSIONS_TEXT];
	enum ehs_reason reason;
	uint32_t common;
	enum versions_fit fit = versions_agree(&ours, &theirs, &common);

	must((fit == VERSIONS_FIT) == !!common);
	must(!common || (common >= theirs.min && common <= theirs.max));
	versions_say(said, "protocol", text, &ours, text, &theirs);
	must((fit == VERSIONS_FIT) == !*said && strlen(said) < sizeof(said));
	json_decref(message);
	if (!reason_parse(text, &reason))
		must(!strcmp(reason_name(reason), text));
	if (view_parse(text) != VIEW_UNSET)
		must(!strcmp(view_name(view_parse(text)), text));
}

static void terminals(const uint8_t *data, size_t size)
{
	struct terminal t, back;
	struct termios modes = { 0 };
	uint8_t bytes[TERMINAL_SIZE];

	if (terminal_decode(&t, data, size))
		return;
	terminal_encode(bytes, &t);
	must(!memcmp(bytes, data, sizeof(bytes)));
	terminal_to_termios(&t, &modes);
	back = t;
	terminal_from_termios(&back, &modes);
	must(!(back.lflag & TERMINAL_EXTPROC));
}

static int group(void *ctx, const char *name)
{
	return *name == 'x' ? -EIO : *name & 1;
}

/* Items that a configuration would take, and a path or name. */
static void site(char *const *words, size_t n)
{
	char *items[WORDS];
	struct site_labels only, never, node = { 0 };
	const char *item = NULL, *given = words[0], *real = n > 1 ? words[1] : NULL;
	enum site_answer answer;
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		site_labels_add(&node, words[i]);
		if (site_path_is_good(words[i])) {
			items[good++] = words[i];
			must(site_path_is_below(words[i], words[i]));
		}
	}
	must(node.n <= SITE_LABELS_MAX);
	answer = site_what(&(struct site_what){ .deny = items, .ndeny = good }, given, real, &item);
	must(answer == SITE_MAY || (answer == SITE_DENIED && item));
	answer = site_what(&(struct site_what){ .allow = items, .nallow = good }, given, real,
			   &item);
	/* It is allowed only by an item that it, or what it really is, is below. */
	if (real && good && answer == SITE_MAY)
		must(site_path_is_below(item, real) || site_path_is_below(item, given));
	good = 0;
	for (size_t i = 0; i < n; i++)
		if (site_who_is_good(words[i]))
			items[good++] = words[i];
	answer = site_who(&(struct site_who){ .deny = items, .ndeny = good }, given, 1000, group,
			  NULL, &item);
	must((answer == SITE_MAY) == !item);
	must(site_who(&(struct site_who){ .allow = items, .nallow = good }, given, 1000, group,
		      NULL, NULL) != SITE_DENIED);
	site_node(&(struct site_node){ words, words, n, n }, given);
	if (site_labels_of((char *const *)words, n, given, real, &only)) {
		must(only.n <= SITE_LABELS_MAX);
		never = (struct site_labels){ 0 };
		must(site_labels_fit(&only, &only, &never, &item));
		must(!only.n || !site_labels_fit(&only, &never, &only, &item));
		site_labels_fit(&node, &only, &never, &item);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *words[WORDS + 1], *rest;
	size_t n = 0;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	times(text);
	others(text, strlen(text));
	terminals(data, size);
	for (rest = text; rest && n < WORDS;)
		words[n++] = strsep(&rest, "\n");
	words[n] = NULL;
	shown(words[0], (const char *const *)words);
	ids((const char *const *)words, n);
	names((const char *const *)words, n);
	site(words, n);
	free(text);
	return 0;
}
