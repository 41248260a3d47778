/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file xml.h  XML elements one after the other, by expat; refusals have their line. */
#ifndef PLAN_DAG_XML_H
#define PLAN_DAG_XML_H

#include "plan/plan.h"

struct dag_xml;

/** What a reader makes of a document. All return 0, -ENOMEM or -EINVAL after dag_xml_refuse(). */
struct dag_xml_reader {
	/** `depth` is 0 for the outermost element. */
	int (*begin)(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name,
		     const char **attributes);
	int (*end)(struct dag_xml *xml, void *ctx, unsigned int depth,
		   const char *name); /**< or NULL */
};

/** Documents nested deeper than 256, and ones with entities of their own, are refused. */
int dag_xml_read(const char *text, size_t length, const struct dag_xml_reader *reader, void *ctx,
		 struct plan_refusal *refusal);

size_t dag_xml_line(const struct dag_xml *xml);
/** -EINVAL, at the line of the element. */
int dag_xml_refuse(struct dag_xml *xml, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** An attribute's value, or NULL. */
const char *dag_xml_find(const char **attributes, const char *name);
/** One that is needed and not empty. */
int dag_xml_text(struct dag_xml *xml, const char **attributes, const char *name, const char **out);
/** A number from 0 to `most`; *out stays when it is absent and not `needed`. */
int dag_xml_number(struct dag_xml *xml, const char **attributes, const char *name, bool needed,
		   double most, double *out);

#endif
