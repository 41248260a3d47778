/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs that are built with a test. */
#ifndef UNIT_BUILT_H
#define UNIT_BUILT_H

/* The path of bin/`name`: of EHS_BUILD if that is absolute, or of the build that this test is in. Until the next call. */
const char *built(const char *name);

#endif
