/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file files.h  Servers of this host's files: LAUNCH_FILES. */
#ifndef EHLAUNCH_FILES_H
#define EHLAUNCH_FILES_H

#include "request.h"

bool files_is_good(const struct request *r);
/** Forks a child that has it served and answers. 0 or -errno. */
int files_start(const struct request *r);

#endif
