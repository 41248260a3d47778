// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/clean.h"

json_t *plan_json_parse(const char *text, size_t length, struct plan_refusal *refusal)
{
	json_error_t error;
	json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

	if (!document)
		plan_refuse(refusal, error.line > 0 ? error.line : 1, NULL, "no JSON: %s",
			    error.text);
	return document;
}

/* The deepest part says most, so it is kept if there is no room for the whole path. */
static size_t write_path(const struct plan_path *path, char *out, size_t size)
{
	size_t at;

	if (!path->up)
		return snprintf(out, size, "$");
	at = write_path(path->up, out, size);
	if (at >= size)
		at = snprintf(out, size, "...");
	if (path->name)
		at += snprintf(out + at, size - at, ".%s", path->name);
	else
		at += snprintf(out + at, size - at, "[%zu]", path->index);
	return at;
}

int plan_json_refuse(const struct plan_path *path, const char *name, struct plan_refusal *refusal,
		     const char *format, ...)
{
	struct plan_path member = { path, name, 0 };
	char where[sizeof(refusal->where)], what[sizeof(refusal->what)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	write_path(name ? &member : path, where, sizeof(where));
	return plan_refuse(refusal, 0, where, "%s", what);
}

int plan_json_known(const json_t *object, const struct plan_path *path, const char *const *names,
		    struct plan_refusal *refusal)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return plan_json_refuse(path, NULL, refusal, "an object is needed here");
	json_object_foreach((json_t *)object, key, value) {
		size_t i = 0;

		while (names[i] && strcmp(names[i], key))
			i++;
		if (!names[i])
			return plan_json_refuse(path, NULL, refusal,
						"no member \"%.60s\" is known here", key);
	}
	return 0;
}

/* 1 with *value; 0 if it is absent and not needed. */
static int member(const json_t *object, const struct plan_path *path, const char *name, bool needed,
		  const json_t **value, struct plan_refusal *refusal)
{
	if (!json_is_object(object))
		return plan_json_refuse(path, NULL, refusal, "an object is needed here");
	*value = json_object_get(object, name);
	if (!*value && needed)
		return plan_json_refuse(path, NULL, refusal, "\"%s\" is missing", name);
	return *value != NULL;
}

int plan_json_number(const json_t *object, const struct plan_path *path, const char *name,
		     bool needed, double least, double most, double *out,
		     struct plan_refusal *refusal)
{
	const json_t *value = NULL;
	int err = member(object, path, name, needed, &value, refusal);
	double number;

	if (err <= 0)
		return err;
	number = json_number_value(value);
	if (!json_is_number(value))
		return plan_json_refuse(path, name, refusal, "a number is needed");
	if (!isfinite(number) || number < least || number > most)
		return plan_json_refuse(path, name, refusal, "%g is not from %g to %g", number,
					least, most);
	*out = number;
	return 0;
}

int plan_json_count(const json_t *object, const struct plan_path *path, const char *name,
		    bool needed, uint64_t least, uint64_t most, uint64_t *out,
		    struct plan_refusal *refusal)
{
	const json_t *value = NULL;
	int err = member(object, path, name, needed, &value, refusal);
	json_int_t number;

	if (err <= 0)
		return err;
	number = json_integer_value(value);
	if (!json_is_integer(value))
		return plan_json_refuse(path, name, refusal, "a whole number is needed");
	if (number < 0 || (uint64_t)number < least || (uint64_t)number > most)
		return plan_json_refuse(path, name, refusal,
					"%" JSON_INTEGER_FORMAT " is not from %llu to %llu", number,
					(unsigned long long)least, (unsigned long long)most);
	*out = number;
	return 0;
}

int plan_json_text(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, char *buffer, const char **out, struct plan_refusal *refusal)
{
	const json_t *value = NULL;
	int err = member(object, path, name, needed, &value, refusal);

	*out = NULL;
	if (err <= 0)
		return err;
	if (buffer && json_is_integer(value)) {
		snprintf(buffer, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		*out = buffer;
		return 0;
	}
	if (!json_is_string(value))
		return plan_json_refuse(path, name, refusal, "a string is needed");
	*out = json_string_value(value);
	if (!**out)
		return plan_json_refuse(path, name, refusal, "it is empty");
	if (strlen(*out) != json_string_length(value))
		return plan_json_refuse(path, name, refusal, "it has a null byte");
	if (!clean_is(*out))
		return plan_json_refuse(path, name, refusal, "it has a control character");
	return 0;
}

int plan_json_word(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, const char *const *words, size_t *out, struct plan_refusal *refusal)
{
	char list[sizeof(refusal->what)] = "";
	const char *text;
	int err = plan_json_text(object, path, name, needed, NULL, &text, refusal);
	size_t at = 0, i = 0;

	if (err || !text)
		return err;
	for (; words[i] && at < sizeof(list); i++) {
		if (!strcmp(words[i], text)) {
			*out = i;
			return 0;
		}
		at += snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", words[i]);
	}
	return plan_json_refuse(path, name, refusal, "\"%.40s\" is not one of %s", text, list);
}

int plan_json_id(const json_t *object, const struct plan_path *path, struct plan_names *names,
		 struct plan_refusal *refusal)
{
	const char *id;
	char buffer[24];
	int64_t number;
	int err = plan_json_text(object, path, "id", true, buffer, &id, refusal);

	if (err)
		return err;
	number = plan_names_add(names, id);
	if (number == -EEXIST)
		return plan_json_refuse(path, "id", refusal, "\"%.60s\" is listed twice", id);
	return number < 0 ? number : 0;
}

int plan_json_reference(const json_t *object, const struct plan_path *path, const char *name,
			const struct plan_names *names, const char *what, uint32_t *out,
			struct plan_refusal *refusal)
{
	const char *id;
	char buffer[24];
	int64_t number;
	int err = plan_json_text(object, path, name, true, buffer, &id, refusal);

	if (err)
		return err;
	number = plan_names_find(names, id);
	if (number < 0)
		return plan_json_refuse(path, name, refusal, "there is no %s %.60s", what, id);
	*out = number;
	return 0;
}

int plan_json_array(const json_t *object, const struct plan_path *path, const char *name,
		    bool needed, const json_t **out, struct plan_refusal *refusal)
{
	int err = member(object, path, name, needed, out, refusal);

	if (err > 0 && !json_is_array(*out))
		return plan_json_refuse(path, name, refusal, "an array is needed");
	return err < 0 ? err : 0;
}

int plan_json_object(const json_t *object, const struct plan_path *path, const char *name,
		     bool needed, const json_t **out, struct plan_refusal *refusal)
{
	int err = member(object, path, name, needed, out, refusal);

	if (err > 0 && !json_is_object(*out))
		return plan_json_refuse(path, name, refusal, "an object is needed");
	return err < 0 ? err : 0;
}

int plan_json_filled(const json_t *array, const struct plan_path *path, size_t most,
		     struct plan_refusal *refusal)
{
	size_t count = json_array_size(array);

	if (count && count <= most)
		return 0;
	return plan_json_refuse(path, NULL, refusal, "from 1 to %zu %s are needed", most,
				path->name);
}
