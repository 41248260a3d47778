/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file json.h
 * Reads members of a JSON problem; refusals name their path. A path is a chain on the caller's
 * stack, which is formatted only for a refusal. All functions but plan_json_parse() return 0, or
 * -EINVAL with the refusal, or -ENOMEM.
 */
#ifndef PLAN_JSON_H
#define PLAN_JSON_H

#include <jansson.h>

#include "plan/names.h"
#include "plan/plan.h"

/** "$" is { 0 }; a member has a name, an element an index. */
struct plan_path {
	const struct plan_path *up; /**< NULL: the document */
	const char *name; /**< NULL: an element */
	size_t index;
};

/** Parses a whole document; duplicate members, invalid UTF-8 and nesting above 2048 are refused
 *  with their line. NULL with the refusal. */
json_t *plan_json_parse(const char *text, size_t length, struct plan_refusal *refusal);

/** -EINVAL with the refusal at `path`, or at its member `name`. */
int plan_json_refuse(const struct plan_path *path, const char *name, struct plan_refusal *refusal,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Refuses members that are not in the NULL-terminated list, because a misspelt one would be
 *  ignored. */
int plan_json_known(const json_t *object, const struct plan_path *path, const char *const *names,
		    struct plan_refusal *refusal);

/** A finite number from `least` to `most`. If it is absent and not `needed`, `*out` is
 *  unchanged. */
int plan_json_number(const json_t *object, const struct plan_path *path, const char *name,
		     bool needed, double least, double most, double *out,
		     struct plan_refusal *refusal);
/** The same for a whole number from `least` to `most`. */
int plan_json_count(const json_t *object, const struct plan_path *path, const char *name,
		    bool needed, uint64_t least, uint64_t most, uint64_t *out,
		    struct plan_refusal *refusal);
/** A string; with `buffer` also an integer, written there (24 bytes): ids are often numbers.
 *  *out is NULL when it is absent and not needed. Not empty, and no control characters. */
int plan_json_text(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, char *buffer, const char **out, struct plan_refusal *refusal);
/** A word of the NULL-terminated list; *out is its place there. */
int plan_json_word(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, const char *const *words, size_t *out,
		   struct plan_refusal *refusal);
/** Adds the member "id" to `names`; one that is listed already is refused. */
int plan_json_id(const json_t *object, const struct plan_path *path, struct plan_names *names,
		 struct plan_refusal *refusal);
/** A member that must be one of `names`; `what` says in a refusal what they are names of. */
int plan_json_reference(const json_t *object, const struct plan_path *path, const char *name,
			const struct plan_names *names, const char *what, uint32_t *out,
			struct plan_refusal *refusal);
/** An array or object; *out is NULL when it is absent and not needed. */
int plan_json_array(const json_t *object, const struct plan_path *path, const char *name,
		    bool needed, const json_t **out, struct plan_refusal *refusal);
int plan_json_object(const json_t *object, const struct plan_path *path, const char *name,
		     bool needed, const json_t **out, struct plan_refusal *refusal);
/** Refuses an array at `path`, a member, that does not have from 1 to `most` elements. */
int plan_json_filled(const json_t *array, const struct plan_path *path, size_t most,
		     struct plan_refusal *refusal);

#endif
