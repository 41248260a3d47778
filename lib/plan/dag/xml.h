/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file xml.h  Reads XML elements one after the other, with expat; refusals have a line. */
#ifndef PLAN_DAG_XML_H
#define PLAN_DAG_XML_H

#include "plan/plan.h"

struct dag_xml;

/** The callbacks of a reader. They return 0, -ENOMEM, or -EINVAL after dag_xml_refuse(). */
struct dag_xml_reader {
	/** `depth` is 0 for the outermost element. */
	int (*begin)(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name,
		     const char **attributes);
	int (*end)(struct dag_xml *xml, void *ctx, unsigned int depth,
		   const char *name); /**< or NULL */
};

/** Reads a document; one that is nested deeper than 256, or that declares entities, is refused.
 *  0, -ENOMEM, or -EINVAL with the refusal. */
int dag_xml_read(const char *text, size_t length, const struct dag_xml_reader *reader, void *ctx,
		 struct plan_refusal *refusal);

/** Where the reader is. */
size_t dag_xml_line(const struct dag_xml *xml);
/** -EINVAL, at the line of the element. */
int dag_xml_refuse(struct dag_xml *xml, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** An attribute's value, or NULL. */
const char *dag_xml_find(const char **attributes, const char *name);
/** The value of an attribute that must exist and must not be empty. 0 or -EINVAL. */
int dag_xml_text(struct dag_xml *xml, const char **attributes, const char *name, const char **out);
/** A number from 0 to `most`; *out is unchanged if it is absent and not `needed`. 0 or -EINVAL. */
int dag_xml_number(struct dag_xml *xml, const char **attributes, const char *name, bool needed,
		   double most, double *out);

#endif
