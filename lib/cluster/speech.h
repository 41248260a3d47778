/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file speech.h
 * What strings in JSON of others may have: other nodes, hosts that want to join, local users. Each ends
 * in messages, lists and logs that people read on a terminal, so it is looked at once, where it comes in.
 * Pure.
 */
#ifndef CLUSTER_SPEECH_H
#define CLUSTER_SPEECH_H

#include <stddef.h>
#include <jansson.h>

#define SPEECH_STRING 8192 /**< bytes of a string: certificates of the roster are the longest */
#define SPEECH_NAME 64 /**< bytes of the name of a member */
#define SPEECH_WHY 128

/**
 * Parses a JSON object. Strings in it and names of members must be clean (wire/clean.h) and no longer than
 * SPEECH_STRING and SPEECH_NAME. Two kinds of members may have others: names of files (`path`, `mounts`)
 * any character, and PEM (`authority`, `certificate`, `list`, `request`) lines of ASCII without a limit.
 *
 * Returns the object, or NULL: why, of SPEECH_WHY bytes, says why, as the end of a sentence that begins with
 * what it is. why may be NULL.
 */
json_t *speech_object(const char *text, size_t length, char *why);

/**
 * Makes each string in the value clean: what is not becomes "?". Members whose names are not clean are left
 * out. This is for a program that prints what an agent says, names of files included.
 */
void speech_clean(json_t *value);

#endif
