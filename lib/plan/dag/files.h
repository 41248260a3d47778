/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file files.h  Files of workflows: what an edge's data are. */
#ifndef PLAN_DAG_FILES_H
#define PLAN_DAG_FILES_H

#include "graph.h"

/** That a task reads or writes a file. */
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
/** 0 or -ENOMEM. */
int dag_files_use(struct dag_files *files, uint32_t task, const char *file, bool writes,
		  double bytes);

/** Each edge's data become the bytes of all files that its first task writes and its second reads;
 *  0 or -ENOMEM. */
int dag_files_weigh(struct dag_files *files, struct dag_draft *draft);

#endif
