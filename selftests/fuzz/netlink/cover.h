/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coverage of the module, where the kernel has KCOV: which places of its code
 * the system calls of this process, and of its children in an exec, went through.
 */
#ifndef FUZZ_COVER_H
#define FUZZ_COVER_H

#include <stdbool.h>
#include <stdio.h>

/* Before any worker is forked: what is seen is shared. False if there is no KCOV. */
bool cover_init(const char *module);
/* In a worker: for itself and @children children at a time. */
void cover_begin(unsigned int children);
/* In child number @child, after fork: it is traced until it ends, over an exec too. */
void cover_child(unsigned int child);
/* Takes what this task has done. Return: places nobody had seen before. */
unsigned int cover_take(void);
/* The same of a child that has ended. */
unsigned int cover_take_child(unsigned int child);
/* All places seen so far, of all workers. */
unsigned int cover_seen(void);
/* A line "place OFFSET" for each, counted from the beginning of .text. */
void cover_print(FILE *file);

#endif
