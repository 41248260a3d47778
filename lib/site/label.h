/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file label.h
 * Rules of a site about labels of nodes: "LABEL:PATH" says that a program, or those below a directory,
 * run on nodes with this label only, or never. No input or output.
 */
#ifndef SITE_LABEL_H
#define SITE_LABEL_H

#include <stdbool.h>
#include <stddef.h>

#define SITE_LABEL_MAX 32 /**< bytes of a label */
#define SITE_LABELS_MAX 16 /**< of a node, and of what a task needs */

struct site_labels {
	size_t n;
	char label[SITE_LABELS_MAX][SITE_LABEL_MAX + 1];
};

/** Whether this is a label: letters, digits, ".", "_" and "-". */
bool site_label_is_good(const char *label);
/** Whether this is "LABEL:PATH", with a path as site_path_is_good(). */
bool site_label_rule_is_good(const char *item);
/** Adds one, if it is not there. False: it is not a label, or there are too many. */
bool site_labels_add(struct site_labels *labels, const char *label);
bool site_labels_have(const struct site_labels *labels, const char *label);
/**
 * The labels of all items that are about a program: its path as it was executed (`given`), or without
 * links (`real`; NULL: not known). False: there are too many.
 */
bool site_labels_of(char *const *items, size_t n, const char *given, const char *real,
		    struct site_labels *out);
/** Whether a node with these labels has all of `only` and none of `never`; else *label is one of them. */
bool site_labels_fit(const struct site_labels *node, const struct site_labels *only,
		     const struct site_labels *never, const char **label);

#endif
