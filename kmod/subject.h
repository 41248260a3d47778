/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_SUBJECT_H
#define _EHS_SUBJECT_H

#include <linux/cred.h>
#include <linux/sched.h>

/**
 * struct ehs_subject - a task of which is to be said whether it may leave its node
 * @task: current in its own exec, else a task that is referenced
 * @cred: its credentials, referenced
 *
 * A task other than current changes while it is judged, and may end: its
 * namespaces, files and root are read under its task_lock(), and are NULL from
 * its end on. The judgement held at some moment of it, of each thing at another.
 */
struct ehs_subject {
	struct task_struct *task;
	const struct cred *cred;
};

/* The task that calls exec. Its own references are enough. */
static inline struct ehs_subject ehs_subject_current(void)
{
	return (struct ehs_subject){ .task = current, .cred = current_cred() };
}

#endif /* _EHS_SUBJECT_H */
