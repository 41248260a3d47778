/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file topology.h
 * Codes and paths of EH(n,l), paper 4 section 2 (docs/glossary.md). Level 0 has
 * the nodes, level l the single top controller. A code lists digits from the top
 * down: the top is "0", a child is its parent's code and a digit 0..2^n-1, as in
 * "0.3.7".
 */
#ifndef EH_TOPOLOGY_H
#define EH_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EH_N_MAX 10 /**< largest n: 1024 children */
#define EH_LEVELS_MAX 20 /**< largest l */
#define EH_BITS_MAX 30 /**< largest n*l: a node's number fits 32 bits */
#define EH_CODE_TEXT (EH_LEVELS_MAX * 5 + 2) /**< bytes of a code as text, with its NUL */

/** EH(n,l): l levels of controllers, each with 2^n children. */
struct eh_topology {
	unsigned int n, l; /**< n*l <= EH_BITS_MAX */
};

/** A node or controller: its level, and its number 0..2^(n(l-level))-1 in that level. */
struct eh_code {
	unsigned int level;
	uint32_t index;
};

/** "3,2": n 1..EH_N_MAX, l 1..EH_LEVELS_MAX. Returns 0 or -EINVAL. */
int eh_topology_parse(const char *text, struct eh_topology *out);

/** Digits with dots ("0.3.7") or, for n=3, the paper's octal ("037"). Returns 0 or -EINVAL. */
int eh_code_parse(const struct eh_topology *t, const char *text, struct eh_code *out);
/** With dots. Returns `out`. */
char *eh_code_format(const struct eh_topology *t, struct eh_code code, char out[EH_CODE_TEXT]);
/** In octal ("037") for n=3, with dots otherwise. Returns `out`. */
char *eh_code_format_octal(const struct eh_topology *t, struct eh_code code,
			   char out[EH_CODE_TEXT]);

/** The top is its own parent. */
struct eh_code eh_code_parent(const struct eh_topology *t, struct eh_code code);
/** `code` is not a node (level 0). */
struct eh_code eh_code_child(const struct eh_topology *t, struct eh_code code, unsigned int digit);

/** The neighbour in the cube of its siblings whose code differs in this bit 0..n-1. Not for the top. */
struct eh_code eh_code_neighbour(struct eh_code code, unsigned int bit);

/** Maximum number of codes on a path, both ends included. */
#define EH_PATH_MAX (2 * EH_LEVELS_MAX + EH_N_MAX)

/**
 * PathMake of the paper: up to the lowest pair of ancestors that share a cube,
 * across it, and down. A controller above that cube is never on the path. There
 * are as many shortest paths as orders of the bits in which the pair differs;
 * the seed chooses one, each equally often. Both ends are of one level.
 * Returns the number of codes, `from` and `to` included; -EINVAL: no such codes.
 */
int eh_path(const struct eh_topology *t, struct eh_code from, struct eh_code to, uint64_t seed,
	    struct eh_code out[EH_PATH_MAX]);

#endif
