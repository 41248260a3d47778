// SPDX-License-Identifier: GPL-2.0-or-later
#include "read.h"

#include <errno.h>
#include <string.h>

#include "files.h"
#include "xml.h"

struct dax {
	struct dag_draft *draft;
	struct dag_files files;
	int64_t job, child; /* being read, or -1 */
};

static int read_job(struct dag_xml *xml, struct dax *d, const char **attributes)
{
	const char *id;
	double runtime;
	int err = dag_xml_text(xml, attributes, "id", &id);

	if (!err)
		err = dag_xml_number(xml, attributes, "runtime", true, DAG_NUMBER_MAX, &runtime);
	if (err)
		return err;
	d->job = dag_draft_task(d->draft, id, runtime);
	if (d->job == -EEXIST)
		return dag_xml_refuse(xml, "the job %.60s is listed twice", id);
	if (d->job == -E2BIG)
		return dag_xml_refuse(xml, "more than %u jobs", DAG_TASKS_MAX);
	return d->job < 0 ? (int)d->job : 0;
}

/* file= up to DAX 2, name= from DAX 3 on */
static int read_use(struct dag_xml *xml, struct dax *d, const char **attributes)
{
	const char *name = dag_xml_find(attributes, "file") ? "file" : "name", *file, *link;
	double size = 0;
	int err = dag_xml_text(xml, attributes, name, &file);

	if (!err)
		err = dag_xml_text(xml, attributes, "link", &link);
	if (!err)
		err = dag_xml_number(xml, attributes, "size", false, DAG_NUMBER_MAX, &size);
	if (!err && (!strcmp(link, "input") || !strcmp(link, "inout")))
		err = dag_files_use(&d->files, d->job, file, false, size);
	if (!err && (!strcmp(link, "output") || !strcmp(link, "inout")))
		err = dag_files_use(&d->files, d->job, file, true, size);
	return err;
}

static int find_job(struct dag_xml *xml, struct dax *d, const char **attributes, int64_t *out)
{
	const char *id;
	int err = dag_xml_text(xml, attributes, "ref", &id);

	if (err)
		return err;
	*out = plan_names_find(d->draft->names, id);
	return *out < 0 ? dag_xml_refuse(xml, "no job has the id %.60s", id) : 0;
}

static int begin(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name,
		 const char **attributes)
{
	struct dax *d = ctx;
	int64_t parent;
	int err;

	if (!depth)
		return strcmp(name, "adag")
			       ? dag_xml_refuse(xml, "a DAX file begins with <adag>, not <%.40s>",
						name)
			       : 0;
	if (depth == 1 && !strcmp(name, "job"))
		return read_job(xml, d, attributes);
	if (depth == 1 && !strcmp(name, "child"))
		return find_job(xml, d, attributes, &d->child);
	if (depth == 2 && d->job >= 0 && !strcmp(name, "uses"))
		return read_use(xml, d, attributes);
	if (depth == 2 && d->child >= 0 && !strcmp(name, "parent")) {
		err = find_job(xml, d, attributes, &parent);
		return err ? err : dag_draft_edge(d->draft, parent, d->child, 0, dag_xml_line(xml));
	}
	return 0; /* other elements of a job are not needed */
}

static int end(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name)
{
	struct dax *d = ctx;

	if (depth == 1)
		d->job = d->child = -1;
	return 0;
}

int dag_read_dax(const char *text, size_t length, struct dag_draft *draft,
		 struct plan_refusal *refusal)
{
	static const struct dag_xml_reader reader = { begin, end };
	struct dax d = { .draft = draft, .job = -1, .child = -1 };
	int err = dag_files_begin(&d.files);

	draft->bytes = true;
	if (!err)
		err = dag_xml_read(text, length, &reader, &d, refusal);
	if (!err) {
		dag_draft_unite(draft);
		err = dag_files_weigh(&d.files, draft);
	}
	dag_files_end(&d.files);
	return err;
}
