/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file workflow.h  A workflow whose tasks have commands: WfFormat with execution.tasks[].command. */
#ifndef EHPLAN_WORKFLOW_H
#define EHPLAN_WORKFLOW_H

#include <stdint.h>

#include "plan/dag/graph.h"

struct workflow {
	struct dag_graph *graph;
	char ***argv; /**< of each task of the graph, NULL-terminated */
	uint64_t *key; /**< of each task: a digest of its command */
};

/** Reads the text, which has a null byte at text[length]. 0 or an exit code after a message. End it
 *  with workflow_close() in either case. */
int workflow_read(const char *name, const char *text, size_t length, struct workflow *w);
void workflow_close(struct workflow *w);

#endif
