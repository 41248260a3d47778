/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file job.h  What the program would have inherited from this process. */
#ifndef EHSTUB_JOB_H
#define EHSTUB_JOB_H

#include <stdint.h>

struct stub;

/** Looks at the files that the arguments name. Without memory none are. */
void stub_name_files(struct stub *s);
/** Sends FRAME_NAMED and FRAME_JOB, at most `until` then. 0 or -errno. */
int stub_send_job(struct stub *s, int64_t until);

#endif
