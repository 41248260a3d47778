// SPDX-License-Identifier: GPL-2.0-or-later
#include "label.h"

#include <string.h>

#include "what.h"

static const char label_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

bool site_label_is_good(const char *label)
{
	size_t n = strnlen(label, SITE_LABEL_MAX + 1);

	return n && n <= SITE_LABEL_MAX && strspn(label, label_bytes) == n;
}

/* The label of an item, and its path. NULL: it has none. */
static const char *label_split(const char *item, char label[SITE_LABEL_MAX + 1])
{
	size_t n = strspn(item, label_bytes);

	if (!n || n > SITE_LABEL_MAX || item[n] != ':')
		return NULL;
	memcpy(label, item, n);
	label[n] = '\0';
	return item + n + 1;
}

bool site_label_rule_is_good(const char *item)
{
	char label[SITE_LABEL_MAX + 1];
	const char *path = label_split(item, label);

	return path && site_path_is_good(path);
}

bool site_labels_have(const struct site_labels *labels, const char *label)
{
	for (size_t i = 0; i < labels->n; i++)
		if (!strcmp(labels->label[i], label))
			return true;
	return false;
}

bool site_labels_add(struct site_labels *labels, const char *label)
{
	if (!site_label_is_good(label))
		return false;
	if (site_labels_have(labels, label))
		return true;
	if (labels->n == SITE_LABELS_MAX)
		return false;
	strcpy(labels->label[labels->n++], label);
	return true;
}

bool site_labels_of(char *const *items, size_t n, const char *given, const char *real,
		    struct site_labels *out)
{
	*out = (struct site_labels){ 0 };
	for (size_t i = 0; i < n; i++) {
		char label[SITE_LABEL_MAX + 1];
		const char *path = label_split(items[i], label);

		if (!path || (!site_path_is_below(path, given) &&
			      (!real || !site_path_is_below(path, real))))
			continue;
		if (!site_labels_add(out, label))
			return false;
	}
	return true;
}

bool site_labels_fit(const struct site_labels *node, const struct site_labels *only,
		     const struct site_labels *never, const char **label)
{
	for (size_t i = 0; i < never->n; i++) {
		*label = never->label[i];
		if (site_labels_have(node, *label))
			return false;
	}
	for (size_t i = 0; i < only->n; i++) {
		*label = only->label[i];
		if (!site_labels_have(node, *label))
			return false;
	}
	*label = NULL;
	return true;
}
