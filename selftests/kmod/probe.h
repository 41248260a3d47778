/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of probe. */
#ifndef PROBE_H
#define PROBE_H

#include <sys/types.h>
#include <time.h>

struct verb {
	const char *name;
	/* gets the words after the name, returns those after its operands */
	char **(*run)(char **args);
	int operands;
};

/* Verbs that confine a task (confine.c), and verbs of many at once (crowd.c); the last one has no name. */
extern const struct verb confine_verbs[], crowd_verbs[];

void __attribute__((noreturn)) die(const char *what);
/* An ordinary user, and nothing else. */
void be_user(uid_t uid);
/* Milliseconds by CLOCK_MONOTONIC. */
long ms_since(const struct timespec *from);
/* As a shell has the status of a child. */
int shell_status(int status);

#endif
