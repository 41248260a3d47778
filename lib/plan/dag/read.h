/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file read.h  Task graphs in several formats, which are recognised by their content. */
#ifndef PLAN_DAG_READ_H
#define PLAN_DAG_READ_H

#include "graph.h"

/** Reads any of the formats below into a draft that was begun. `text` has a null byte at
 *  text[length]. All return 0, -ENOMEM, or -EINVAL with the refusal. */
int dag_read(const char *text, size_t length, struct dag_draft *draft,
	     struct plan_refusal *refusal);

/** {"tasks":…, "edges":…}, or WfFormat 1.5: tasks with runtimeInSeconds; an edge's data are the
 *  bytes of the files that the parent writes and the child reads. */
int dag_read_json(const char *text, size_t length, struct dag_draft *draft,
		  struct plan_refusal *refusal);
int dag_read_wfformat(const void *document, struct dag_draft *draft, struct plan_refusal *refusal);
/** Standard Task Graph Set: id, time, number of predecessors, predecessors; no communication. */
int dag_read_stg(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal);
/** Graphviz: Weight on nodes and edges; TargetSystem="Homogeneous-P". */
int dag_read_dot(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal);
/** Pegasus: job runtime, and bytes of files as in WfFormat. */
int dag_read_dax(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal);

#endif
