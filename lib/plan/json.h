/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file json.h
 * Members of a JSON problem, with refusals that name their path. A path is a chain on
 * the caller's stack: nothing is formatted until something is refused.
 */
#ifndef PLAN_JSON_H
#define PLAN_JSON_H

#include <jansson.h>

#include "plan/names.h"
#include "plan/plan.h"

/** "$" is { 0 }; a member has a name, an element an index. */
struct plan_path {
	const struct plan_path *up; /**< NULL: the document */
	const char *name;	    /**< NULL: an element */
	size_t index;
};

/** A whole document; duplicate members, invalid UTF-8 and nesting above 2048 are refused with
 *  their line. NULL with the refusal. */
json_t *plan_json_parse(const char *text, size_t length, struct plan_refusal *refusal);

/** -EINVAL with the refusal at `path`, or at its member `name`. */
int plan_json_refuse(const struct plan_path *path, const char *name, struct plan_refusal *refusal,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Refuses members that are not in the NULL-terminated list, as misspelt ones would be lost. */
int plan_json_known(const json_t *object, const struct plan_path *path, const char *const *names,
		    struct plan_refusal *refusal);

/** A finite number from `least` to `most`. An absent one is `*out` as it stands unless `needed`. */
int plan_json_number(const json_t *object, const struct plan_path *path, const char *name,
		     bool needed, double least, double most, double *out,
		     struct plan_refusal *refusal);
/** A whole number from `least` to `most`, else the same. */
int plan_json_count(const json_t *object, const struct plan_path *path, const char *name,
		    bool needed, uint64_t least, uint64_t most, uint64_t *out,
		    struct plan_refusal *refusal);
/** A string; with `buffer` also an integer, written there (24 bytes): ids are often numbers.
 *  *out is NULL when it is absent and not needed. Not empty, and no control characters. */
int plan_json_text(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, char *buffer, const char **out, struct plan_refusal *refusal);
/** One of the NULL-terminated list; its place there. */
int plan_json_word(const json_t *object, const struct plan_path *path, const char *name,
		   bool needed, const char *const *words, size_t *out,
		   struct plan_refusal *refusal);
/** The member "id" becomes the next of `names`; one that is there is refused. */
int plan_json_id(const json_t *object, const struct plan_path *path, struct plan_names *names,
		 struct plan_refusal *refusal);
/** A member that is one of `names`, which are those of a `what`. */
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
