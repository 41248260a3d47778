/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file files.h  Files of workflows, which give the data of edges in bytes. */
#ifndef PLAN_DAG_FILES_H
#define PLAN_DAG_FILES_H

#include "graph.h"

/** A task reads or writes a file. */
struct dag_use {
	uint32_t task, file;
	bool writes;
	double bytes;
};

struct dag_files {
	struct plan_names *names;
	struct dag_use *uses;
	size_t count, room;
};

int dag_files_begin(struct dag_files *files); /**< 0 or -ENOMEM; end it in either case */
void dag_files_end(struct dag_files *files);
/** Adds a use of a file. 0 or -ENOMEM. */
int dag_files_use(struct dag_files *files, uint32_t task, const char *file, bool writes,
		  double bytes);

/** Sets the data of each edge to the bytes of all files that its first task writes and its second
 *  task reads. 0 or -ENOMEM. */
int dag_files_weigh(struct dag_files *files, struct dag_draft *draft);

#endif
