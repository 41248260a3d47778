// SPDX-License-Identifier: GPL-2.0-or-later
#include "speech.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/clean.h"

enum speech_kind { SPEECH_PLAIN, SPEECH_FILE, SPEECH_PEM };

/* By the member that a string is in. */
static enum speech_kind speech_kind(const char *member)
{
	static const struct {
		const char *member;
		enum speech_kind kind;
	} kinds[] = {
		{ "path", SPEECH_FILE },     { "mounts", SPEECH_FILE },
		{ "authority", SPEECH_PEM }, { "certificate", SPEECH_PEM },
		{ "list", SPEECH_PEM },	     { "request", SPEECH_PEM },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(member, kinds[i].member))
			return kinds[i].kind;
	return SPEECH_PLAIN;
}

static bool speech_is_pem(const char *text)
{
	for (; *text; text++)
		if (*text != '\n' && (*text < ' ' || *text > '~'))
			return false;
	return true;
}

/* NULL, or what is wrong with a string. */
static const char *speech_check_string(const json_t *string, enum speech_kind kind)
{
	const char *text = json_string_value(string);

	if (kind == SPEECH_FILE || (kind == SPEECH_PEM && speech_is_pem(text)))
		return NULL;
	if (json_string_length(string) > SPEECH_STRING)
		return "that is too long";
	return clean_is(text) ? NULL : "with a character that is not allowed";
}

/* The same for what a member has, or the whole. 0, or -1 and why. */
static int speech_check(json_t *value, const char *member, char why[SPEECH_WHY])
{
	const char *wrong = NULL, *name;
	json_t *inner;
	size_t i;

	if (json_is_string(value))
		wrong = speech_check_string(value, speech_kind(member));
	if (wrong) {
		snprintf(why, SPEECH_WHY, "has a string in %s %s", member, wrong);
		return -1;
	}
	if (json_is_array(value))
		json_array_foreach(value, i, inner)
			if (speech_check(inner, member, why))
				return -1;
	if (json_is_object(value))
		json_object_foreach(value, name, inner) {
			if (strlen(name) > SPEECH_NAME || !clean_is(name)) {
				snprintf(why, SPEECH_WHY, "has a member whose name is not allowed");
				return -1;
			}
			if (speech_check(inner, name, why))
				return -1;
		}
	return 0;
}

json_t *speech_object(const char *text, size_t length, char *why)
{
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	char unread[SPEECH_WHY];

	why = why ?: unread;
	snprintf(why, SPEECH_WHY, "is not a JSON object");
	if (json_is_object(object) && !speech_check(object, "", why))
		return object;
	json_decref(object);
	return NULL;
}

static void speech_clean_string(json_t *string)
{
	const char *from = json_string_value(string);
	const size_t size = json_string_length(string) + 1;
	char *text;

	if (clean_is(from))
		return;
	text = malloc(size);
	json_string_set(string, text ? clean_text(text, size, from) : "?");
	free(text);
}

void speech_clean(json_t *value)
{
	json_t *inner;
	const char *name;
	void *next;
	size_t i;

	if (json_is_string(value))
		speech_clean_string(value);
	else if (json_is_array(value))
		json_array_foreach(value, i, inner)
			speech_clean(inner);
	else if (json_is_object(value))
		json_object_foreach_safe(value, next, name, inner) {
			if (clean_is(name))
				speech_clean(inner);
			else
				json_object_del(value, name);
		}
}
