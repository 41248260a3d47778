// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SimGrid platforms: hosts, links and the route of each pair. In SimGrid a message takes all links
 * of its route at the same time: latency x 13.01 + bytes / (least bandwidth x 0.97) (model LV08),
 * so a route becomes one link. A speed counts in 4.2 Gf, because SimGrid's DAX reader turns seconds
 * into flops with this factor. Zones, clusters and generated routes are refused.
 */
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "number.h"
#include "xml.h"

#define REFERENCE_FLOPS 4.2e9
#define LATENCY_FACTOR 13.01
#define BANDWIDTH_FACTOR 0.97
#define TCP_GAMMA 4194304.0 /* bytes; SimGrid's window */

struct platform {
	struct dag_machine_draft draft;
	struct plan_names *links;
	double *bandwidth, *latency; /* of links */
	struct dag_wire route; /* being read: startup and rate are sums so far */
	uint32_t hosts_room, links_room;
	size_t wires_room;
};

struct unit {
	const char *name;
	double factor;
};

static const struct unit speeds[] = { { "", 1 },     { "f", 1 },     { "kf", 1e3 },  { "Mf", 1e6 },
				      { "Gf", 1e9 }, { "Tf", 1e12 }, { "Pf", 1e15 }, { NULL, 0 } };
static const struct unit bandwidths[] = {
	{ "", 1 },	     { "Bps", 1 },     { "kBps", 1e3 },	    { "MBps", 1e6 },
	{ "GBps", 1e9 },     { "TBps", 1e12 }, { "KiBps", 0x1p10 }, { "MiBps", 0x1p20 },
	{ "GiBps", 0x1p30 }, { "bps", 0.125 }, { "kbps", 125 },	    { "Mbps", 125e3 },
	{ "Gbps", 125e6 },   { NULL, 0 }
};
static const struct unit seconds[] = { { "", 1 },      { "s", 1 },     { "ms", 1e-3 },
				       { "us", 1e-6 }, { "ns", 1e-9 }, { NULL, 0 } };

static int read_value(struct dag_xml *xml, const char **attributes, const char *name,
		      const struct unit *units, double least, double *out)
{
	const char *text, *end;
	int err = dag_xml_text(xml, attributes, name, &text);

	if (err)
		return err;
	end = dag_number(text, text + strlen(text), DAG_NUMBER_MAX, out);
	for (; end && units->name; units++) {
		if (strcmp(end, units->name))
			continue;
		*out *= units->factor;
		if (*out < least || *out > DAG_NUMBER_MAX)
			break;
		return 0;
	}
	return dag_xml_refuse(xml, "%s=\"%.40s\" is not a value of this kind", name, text);
}

static int grow(double **a, double **b, uint32_t count, uint32_t *room)
{
	uint32_t more = *room ? 2 * *room : 16;
	double *x, *y;

	if (count < *room)
		return 0;
	x = realloc(*a, more * sizeof(*x));
	if (x)
		*a = x;
	y = x ? realloc(*b, more * sizeof(*y)) : NULL;
	if (!y)
		return -ENOMEM;
	*b = y;
	*room = more;
	return 0;
}

static int add_name(struct dag_xml *xml, struct plan_names *names, const char *id)
{
	int64_t number = plan_names_add(names, id);

	if (number == -EEXIST)
		return dag_xml_refuse(xml, "the id %.60s is listed twice", id);
	return number < 0 ? (int)number : 0;
}

static int read_host(struct dag_xml *xml, struct platform *p, const char **attributes)
{
	struct dag_machine_draft *draft = &p->draft;
	const char *id;
	double speed;
	int err = dag_xml_text(xml, attributes, "id", &id);

	if (!err)
		err = read_value(xml, attributes, "speed", speeds, DAG_NUMBER_LEAST, &speed);
	if (!err && draft->processors >= DAG_PROCESSORS_MAX)
		err = dag_xml_refuse(xml, "more than %u hosts", DAG_PROCESSORS_MAX);
	if (!err)
		err = grow(&draft->speed, &draft->startup, draft->processors, &p->hosts_room);
	if (!err)
		err = add_name(xml, draft->names, id);
	if (err)
		return err;
	draft->speed[draft->processors] = speed / REFERENCE_FLOPS;
	draft->startup[draft->processors++] = 0;
	return 0;
}

static int read_link(struct dag_xml *xml, struct platform *p, const char **attributes)
{
	uint32_t count = plan_names_count(p->links);
	double bandwidth, latency = 0;
	const char *id;
	int err = dag_xml_text(xml, attributes, "id", &id);

	if (!err)
		err = read_value(xml, attributes, "bandwidth", bandwidths, DAG_NUMBER_LEAST,
				 &bandwidth);
	if (!err && dag_xml_find(attributes, "latency"))
		err = read_value(xml, attributes, "latency", seconds, 0, &latency);
	if (!err)
		err = grow(&p->bandwidth, &p->latency, count, &p->links_room);
	if (!err)
		err = add_name(xml, p->links, id);
	if (err)
		return err;
	p->bandwidth[count] = bandwidth;
	p->latency[count] = latency;
	return 0;
}

static int begin_route(struct dag_xml *xml, struct platform *p, const char **attributes)
{
	const char *names[2];
	int64_t ends[2];
	int err;

	for (int i = 0; i < 2; i++) {
		err = dag_xml_text(xml, attributes, i ? "dst" : "src", &names[i]);
		if (err)
			return err;
		ends[i] = plan_names_find(p->draft.names, names[i]);
		if (ends[i] < 0)
			return dag_xml_refuse(xml, "no host has the id %.60s", names[i]);
	}
	if (ends[0] == ends[1])
		return dag_xml_refuse(xml, "a route from %.60s to itself", names[0]);
	p->route = (struct dag_wire){ .a = ends[0], .b = ends[1], .rate = DAG_NUMBER_MAX };
	return 0;
}

static int read_hop(struct dag_xml *xml, struct platform *p, const char **attributes)
{
	const char *id;
	int64_t link;
	int err = dag_xml_text(xml, attributes, "id", &id);

	if (err)
		return err;
	link = plan_names_find(p->links, id);
	if (link < 0)
		return dag_xml_refuse(xml, "no link has the id %.60s", id);
	p->route.startup += p->latency[link];
	if (p->bandwidth[link] < p->route.rate)
		p->route.rate = p->bandwidth[link];
	return 0;
}

static int begin(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name,
		 const char **attributes)
{
	struct platform *p = ctx;

	if (!depth)
		return strcmp(name, "platform")
			       ? dag_xml_refuse(xml,
						"a SimGrid platform does not begin with <%.40s>",
						name)
			       : 0;
	if (depth == 1 && (!strcmp(name, "zone") || !strcmp(name, "AS"))) {
		if (p->draft.processors)
			return dag_xml_refuse(xml, "only platforms of one zone are read");
		return 0;
	}
	if (depth == 1 && !strcmp(name, "config"))
		return 0;
	if (depth == 2 && !strcmp(name, "host"))
		return read_host(xml, p, attributes);
	if (depth == 2 && !strcmp(name, "link"))
		return read_link(xml, p, attributes);
	if (depth == 2 && !strcmp(name, "route"))
		return begin_route(xml, p, attributes);
	if (depth == 3 && !strcmp(name, "link_ctn"))
		return read_hop(xml, p, attributes);
	if (!strcmp(name, "prop"))
		return 0;
	return dag_xml_refuse(xml, "<%.40s> of SimGrid platforms is not supported", name);
}

static int end(struct dag_xml *xml, void *ctx, unsigned int depth, const char *name)
{
	struct platform *p = ctx;
	struct dag_machine_draft *draft = &p->draft;
	struct dag_wire *more;
	double window;

	if (depth != 2 || strcmp(name, "route"))
		return 0;
	more = plan_grow(draft->wires, sizeof(*more), draft->nwires, &p->wires_room);
	if (!more)
		return -ENOMEM;
	draft->wires = more;
	window = p->route.startup > 0 ? TCP_GAMMA / (2 * p->route.startup) : DAG_NUMBER_MAX;
	p->route.rate *= BANDWIDTH_FACTOR;
	p->route.rate = window < p->route.rate ? window : p->route.rate;
	if (p->route.rate < DAG_NUMBER_LEAST)
		return dag_xml_refuse(xml, "the route is too slow");
	p->route.startup *= LATENCY_FACTOR;
	p->route.place = draft->nwires;
	draft->wires[draft->nwires++] = p->route;
	return 0;
}

int dag_platform_read(const char *text, size_t length, struct dag_machine **out,
		      struct plan_refusal *refusal)
{
	static const struct dag_xml_reader reader = { begin, end };
	struct platform p = { .draft = { .rate = 1 } };
	int err = -ENOMEM;

	p.draft.names = plan_names_new();
	p.links = plan_names_new();
	if (p.draft.names && p.links)
		err = dag_xml_read(text, length, &reader, &p, refusal);
	if (!err && !p.draft.processors)
		err = plan_refuse(refusal, 1, NULL, "the platform has no hosts");
	if (!err)
		err = dag_machine_make(&p.draft, out, refusal);
	if (err == -EINVAL && !refusal->line)
		refusal->line = 1;
	dag_machine_draft_end(&p.draft);
	plan_names_free(p.links);
	free(p.bandwidth);
	free(p.latency);
	return err;
}
