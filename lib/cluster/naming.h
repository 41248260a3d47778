/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file naming.h  Words that people type: which host is meant, and which word was nearly written. */
#ifndef CLUSTER_NAMING_H
#define CLUSTER_NAMING_H

/** How well a text names a host. */
enum naming {
	NAMING_NOT,
	NAMING_PART, /**< the first labels of its name: "n1" of "n1.example.org" */
	NAMING_FULL, /**< its name, in any case of letters, as DNS has it */
};

enum naming naming_of(const char *host, const char *text);

/** The word that is nearest to `wanted`. Strings are borrowed. */
struct naming_nearest {
	const char *wanted;
	const char *best; /**< NULL: none is near enough */
	unsigned int distance; /**< of `best` */
};

/**
 * Takes `word` if it is nearer than those before. Near enough is a third of the letters wrong, left
 * out, added or swapped (Damerau's distance, with adjacent letters), one at least; or a word that
 * begins with what is wanted.
 */
void naming_try(struct naming_nearest *n, const char *word);

/** Letters to change, leave out, add or swap with their neighbour to make `b` of `a`, in any case of
 *  letters. Of longer words 63 bytes count. */
unsigned int naming_distance(const char *a, const char *b);

#endif
