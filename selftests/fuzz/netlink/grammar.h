/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The family as tables, generated from uapi/ehsched.yaml by grammar.py. */
#ifndef FUZZ_GRAMMAR_H
#define FUZZ_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

enum type { TYPE_U32 = 1, TYPE_U64, TYPE_STRING, TYPE_FLAG, TYPE_NEST, TYPE_PAD };

/* What a value stands for; the scene knows right and wrong ones. */
enum kind { KIND_PLAIN, KIND_FD, KIND_PID, KIND_COOKIE, KIND_PATH, KIND_STUB };

/**
 * struct attribute - what the specification says of one attribute
 * @min: of a number
 * @max: of a number; the length of a string without its NUL, 0 for none
 * @nested: its set, or -1
 */
struct attribute {
	const char *name;
	enum type type;
	enum kind kind;
	uint64_t min, max;
	int nested;
};

/* @attributes counts from 1 to @n, as the numbers do */
struct attribute_set {
	const struct attribute *attributes;
	unsigned int n;
};

/**
 * struct command - an operation, at its number
 * @set: of its attributes
 * @takes: attributes that a request may have, a bit each
 * @can_do: may be called without NLM_F_DUMP
 * @can_dump: and with it
 */
struct command {
	const char *name;
	unsigned int set;
	uint32_t takes;
	bool can_do, can_dump;
};

extern const struct attribute_set sets[];
extern const struct command commands[];
extern const unsigned int nr_commands; /* with the unused 0 */

#endif
