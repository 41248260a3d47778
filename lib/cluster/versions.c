// SPDX-License-Identifier: GPL-2.0-or-later
#include "versions.h"

#include <stdbool.h>
#include <stdio.h>

static bool versions_good(const struct versions *v)
{
	return v->min && v->min <= v->max && v->max <= VERSIONS_MAX;
}

enum versions_fit versions_agree(const struct versions *ours, const struct versions *theirs,
				 uint32_t *common)
{
	*common = 0;
	if (!versions_good(theirs))
		return VERSIONS_UNKNOWN;
	if (theirs->max < ours->min)
		return VERSIONS_TOO_OLD;
	if (theirs->min > ours->max)
		return VERSIONS_TOO_NEW;
	*common = theirs->max < ours->max ? theirs->max : ours->max;
	return VERSIONS_FIT;
}

static bool versions_take(const json_t *from, const char *name, uint32_t *out)
{
	const json_t *value = json_object_get(from, name);

	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    json_integer_value(value) > VERSIONS_MAX)
		return false;
	*out = json_integer_value(value);
	return true;
}

struct versions versions_of(const json_t *message)
{
	const json_t *said = json_object_get(message, "protocol");
	struct versions v;

	if (!said)
		return (struct versions){ 1, 1 };
	if (!versions_take(said, "min", &v.min) || !versions_take(said, "max", &v.max) ||
	    !versions_good(&v))
		return (struct versions){ 0, 0 };
	return v;
}

json_t *versions_put(json_t *message, const struct versions *v)
{
	if (!json_object_set_new(
		    message, "protocol",
		    json_pack("{s:I,s:I}", "min", (json_int_t)v->min, "max", (json_int_t)v->max)))
		return message;
	json_decref(message);
	return NULL;
}

static const char *versions_range(char out[24], const struct versions *v)
{
	if (v->min == v->max)
		snprintf(out, 24, "%u", v->min);
	else
		snprintf(out, 24, "%u to %u", v->min, v->max);
	return out;
}

const char *versions_say(char out[VERSIONS_TEXT], const char *what, const char *our_name,
			 const struct versions *ours, const char *their_name,
			 const struct versions *theirs)
{
	char our_range[24], their_range[24];
	const char *old = NULL;
	uint32_t common;

	*out = '\0';
	switch (versions_agree(ours, theirs, &common)) {
	case VERSIONS_FIT:
		return out;
	case VERSIONS_TOO_OLD:
		old = their_name;
		break;
	case VERSIONS_TOO_NEW:
		old = our_name;
		break;
	case VERSIONS_UNKNOWN:
		snprintf(out, VERSIONS_TEXT, "%s does not tell valid versions of the %s",
			 their_name, what);
		return out;
	}
	/* What to do comes first: names may be long, and the end be cut. */
	snprintf(out, VERSIONS_TEXT, "upgrade %s, which is too old: %s speaks %s %s, %s %s", old,
		 their_name, what, versions_range(their_range, theirs), our_name,
		 versions_range(our_range, ours));
	return out;
}
