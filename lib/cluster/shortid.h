/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file shortid.h
 * Short forms of placement IDs. An ID is HOME:NUMBER, where the number may have 19 figures; its last
 * ones will do as long as no other ID of that home ends with them. Pure.
 */
#ifndef CLUSTER_SHORTID_H
#define CLUSTER_SHORTID_H

#include <jansson.h>
#include <stddef.h>

#define SHORTID_FIGURES 4 /**< of the number, at least */

/** The short form of an ID among `ids`, an array of strings that may have the ID itself, too. The
 *  caller owns it. */
json_t *shortid_make(const json_t *ids, const char *id);

/**
 * The one of `ids` that a text stands for: an ID, or one with fewer figures. `home`: the code that
 * stands for what is before the colon of the text; NULL: that is none. 0 with *id, a string of `ids`;
 * -ENOENT: none; -ENOTUNIQ: several, which why[] names.
 */
int shortid_find(const json_t *ids, const char *home, const char *text, const char **id, char *why,
		 size_t size);

#endif
