/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths in the test's own directory (TMPDIR), where the runner finds what is left. */
#ifndef TEMP_H
#define TEMP_H

#define TEMP_PATH 48

/** Writes the path of `name` there, as mkstemp() and mkdtemp() take it. Returns `path`. */
char *temp_path(char path[TEMP_PATH], const char *name);

#endif
