/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of probe. */
#ifndef PROBE_H
#define PROBE_H

struct verb {
	const char *name;
	/* gets the words after the name, returns those after its operands */
	char **(*run)(char **args);
	int operands;
};

/* What confines a task; the last one has no name. */
extern const struct verb confine_verbs[];

void __attribute__((noreturn)) die(const char *what);

#endif
