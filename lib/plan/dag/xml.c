// SPDX-License-Identifier: GPL-2.0-or-later
#include "xml.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <expat.h>

#include "number.h"
#include "wire/clean.h"

#define DEPTH_MAX 256

struct dag_xml {
	XML_Parser parser;
	const struct dag_xml_reader *reader;
	void *ctx;
	struct plan_refusal *refusal;
	unsigned int depth;
	int err;
};

size_t dag_xml_line(const struct dag_xml *xml)
{
	return XML_GetCurrentLineNumber(xml->parser);
}

int dag_xml_refuse(struct dag_xml *xml, const char *format, ...)
{
	char what[sizeof(xml->refusal->what)];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return plan_refuse(xml->refusal, dag_xml_line(xml), NULL, "%s", what);
}

static void stop(struct dag_xml *xml, int err)
{
	if (!err || xml->err)
		return;
	xml->err = err;
	XML_StopParser(xml->parser, XML_FALSE);
}

static void on_begin(void *data, const char *name, const char **attributes)
{
	struct dag_xml *xml = data;

	/* handlers may be called once more after a stop */
	if (xml->err)
		return;
	if (xml->depth >= DEPTH_MAX)
		stop(xml, dag_xml_refuse(xml, "elements are nested deeper than %d", DEPTH_MAX));
	else
		stop(xml, xml->reader->begin(xml, xml->ctx, xml->depth++, name, attributes));
}

static void on_end(void *data, const char *name)
{
	struct dag_xml *xml = data;

	if (xml->err)
		return;
	xml->depth--;
	if (xml->reader->end)
		stop(xml, xml->reader->end(xml, xml->ctx, xml->depth, name));
}

/* No format needs entities, and they can make a short file very long. */
static void on_entity(void *data, const char *name, int is_parameter, const char *value, int length,
		      const char *base, const char *system, const char *public,
		      const char *notation)
{
	struct dag_xml *xml = data;

	stop(xml, dag_xml_refuse(xml, "it declares the entity %.60s, which is not allowed", name));
}

int dag_xml_read(const char *text, size_t length, const struct dag_xml_reader *reader, void *ctx,
		 struct plan_refusal *refusal)
{
	struct dag_xml xml = { .reader = reader, .ctx = ctx, .refusal = refusal };
	enum XML_Status status = XML_STATUS_OK;

	xml.parser = XML_ParserCreate(NULL);
	if (!xml.parser)
		return -ENOMEM;
	XML_SetUserData(xml.parser, &xml);
	XML_SetElementHandler(xml.parser, on_begin, on_end);
	XML_SetEntityDeclHandler(xml.parser, on_entity);
	/* in pieces, because expat counts in int */
	do {
		int piece = length > 1 << 24 ? 1 << 24 : (int)length;

		length -= piece;
		status = XML_Parse(xml.parser, text, piece, !length);
		text += piece;
	} while (length && status == XML_STATUS_OK);
	if (status != XML_STATUS_OK && !xml.err) {
		enum XML_Error error = XML_GetErrorCode(xml.parser);

		xml.err = error == XML_ERROR_NO_MEMORY
				  ? -ENOMEM
				  : dag_xml_refuse(&xml, "no XML: %s", XML_ErrorString(error));
	}
	XML_ParserFree(xml.parser);
	return xml.err;
}

const char *dag_xml_find(const char **attributes, const char *name)
{
	for (size_t i = 0; attributes[i]; i += 2)
		if (!strcmp(attributes[i], name))
			return attributes[i + 1];
	return NULL;
}

int dag_xml_text(struct dag_xml *xml, const char **attributes, const char *name, const char **out)
{
	*out = dag_xml_find(attributes, name);
	if (!*out || !**out)
		return dag_xml_refuse(xml, "the attribute %s is %s", name,
				      *out ? "empty" : "missing");
	if (!clean_is(*out))
		return dag_xml_refuse(xml, "the attribute %s has a control character", name);
	return 0;
}

int dag_xml_number(struct dag_xml *xml, const char **attributes, const char *name, bool needed,
		   double most, double *out)
{
	const char *text = dag_xml_find(attributes, name), *end;

	if (!text && !needed)
		return 0;
	if (!text)
		return dag_xml_refuse(xml, "the attribute %s is missing", name);
	end = dag_number(text, text + strlen(text), most, out);
	if (!end || *end)
		return dag_xml_refuse(xml, "%s=\"%.40s\": a number from 0 to %g is needed", name,
				      text, most);
	return 0;
}
