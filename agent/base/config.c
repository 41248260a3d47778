// SPDX-License-Identifier: GPL-2.0-or-later
/* The configuration file, read with libconfuse. */

#include "base/config.h"

#include <confuse.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"
#include "base/config_kind.h"
#include "base/config_option.h"
#include "cluster/address.h"
#include "eh/topology.h"

/* One run of config_read(). */
struct config_reader {
	const char *file;
	FILE *errors;
	unsigned int nerrors;
	int last; /* line of the end of the file, for options that are missing */
	struct config *config;
	cfg_t *cfg;
};

static void __attribute__((format(printf, 3, 0)))
config_complain_args(struct config_reader *r, int line, const char *format, va_list args)
{
	r->nerrors++;
	fprintf(r->errors, "%s:%d: ", r->file, line);
	vfprintf(r->errors, format, args);
	fputc('\n', r->errors);
}

static void __attribute__((format(printf, 3, 4)))
config_complain(struct config_reader *r, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	config_complain_args(r, line, format, args);
	va_end(args);
}

/* ---- callbacks of libconfuse ---- */

/*
 * libconfuse passes no pointer of ours to its callbacks. The default number of the first option, a
 * string, is not used: it holds the reader.
 */
_Static_assert(sizeof(long) == sizeof(void *), "a pointer fits into a long");

static struct config_reader *config_reader_of(const cfg_t *cfg)
{
	struct config_reader *r;

	memcpy(&r, &cfg->opts[0].def.number, sizeof(void *));
	return r;
}

static void config_on_error(cfg_t *cfg, const char *format, va_list args)
{
	config_complain_args(config_reader_of(cfg), cfg->line > 0 ? cfg->line : 1, format, args);
}

/* libconfuse keeps no line numbers, so values are checked while the parser is on their line. */
static int config_on_value(cfg_t *cfg, cfg_opt_t *given)
{
	struct config_reader *r = config_reader_of(cfg);
	const struct config_option *o = config_option_find(
		cfg_title(cfg) ? config_peer_options : config_options, given->name);

	if (o->line)
		*(int *)((char *)r->config + o->line) = cfg->line;
	return o->kind->check ? o->kind->check(cfg, o, given) : 0;
}

static void config_declare(struct config_reader *r, const struct config_option *o, cfg_opt_t *out)
{
	for (cfg_opt_t *first = out; o->name; o++, out++) {
		*out = (cfg_opt_t){
			.name = o->name,
			.type = o->kind->type,
			.validcb = config_on_value,
		};
		if (o->kind->is_list)
			out->flags = CFGF_LIST;
		else if (!o->preset)
			out->flags = CFGF_NODEFAULT;
		else if (out->type == CFGT_INT)
			out->def.number = strtol(o->preset, NULL, 10);
		else if (out->type == CFGT_FLOAT)
			out->def.fpnumber = strtod(o->preset, NULL);
		else if (out->type == CFGT_BOOL)
			out->def.boolean = !strcmp(o->preset, "true");
		else
			out->def.string = o->preset;
		if (out == first)
			memcpy(&out->def.number, &r, sizeof(void *)); /* see config_reader_of() */
	}
}

static cfg_t *config_parser(struct config_reader *r)
{
	/* both end with zeros, as CFG_END() is */
	cfg_opt_t peer[CONFIG_PEER_OPTIONS + 1] = { 0 }, options[CONFIG_OPTIONS + 2] = { 0 };
	cfg_t *cfg;

	config_declare(r, config_peer_options, peer);
	config_declare(r, config_options, options);
	options[CONFIG_OPTIONS] =
		(cfg_opt_t)CFG_SEC("peer", peer, CFGF_TITLE | CFGF_MULTI | CFGF_NO_TITLE_DUPES);
	cfg = cfg_init(options, CFGF_NONE);
	if (cfg)
		cfg_set_error_function(cfg, config_on_error);
	return cfg;
}

/* ---- from the values of the parser to the configuration ---- */

static int config_take_options(struct config_reader *r)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		cfg_opt_t *given = cfg_getopt(r->cfg, o->name);

		if (o->required && !cfg_opt_size(given))
			config_complain(r, r->last, "%s is missing (%s)", o->name, o->help);
		else if (o->kind->take && o->kind->take(r->config, o, given))
			return -ENOMEM;
	}
	return 0;
}

static int config_take_join(struct config_reader *r, const char *const *join)
{
	size_t given = cfg_size(r->cfg, "join"), n = 0;
	struct config *c = r->config;

	while (join && join[n])
		n++;
	c->join = calloc(n + given + 1, sizeof(*c->join));
	if (!c->join)
		return -ENOMEM;
	for (size_t i = 0; i < n + given; i++)
		if (!config_parse_join(i < n ? join[i] : cfg_getnstr(r->cfg, "join", i - n),
				       &c->join[c->njoin]))
			c->njoin++;
	return 0;
}

/* What two peers have in common although they must not, or NULL. */
static const char *config_same_in(const struct config_peer *p, const struct config_peer *q)
{
	if (q->code.index == p->code.index)
		return "code";
	if (!strcmp(q->host, p->host))
		return "host";
	return memcmp(&q->address.sa, &p->address.sa, sizeof(q->address.sa)) ? NULL : "address";
}

static void config_take_peer(struct config_reader *r, cfg_t *block)
{
	int line = block->line > 0 ? block->line : r->last;
	const char *title = cfg_title(block);
	struct config *c = r->config;
	struct config_peer *p = &c->peers[c->npeers];

	for (const struct config_option *o = config_peer_options; o->name; o++) {
		cfg_opt_t *given = cfg_getopt(block, o->name);

		if (!cfg_opt_size(given)) {
			config_complain(r, line, "peer \"%s\": %s is missing (%s)", title, o->name,
					o->help);
			return;
		}
		o->kind->take(p, o, given);
	}
	if (eh_code_parse(&c->topology, title, &p->code) || p->code.level) {
		config_complain(r, line, "peer \"%s\": not a node code of topology %u,%u", title,
				c->topology.n, c->topology.l);
		return;
	}
	eh_code_format(&c->topology, p->code, p->text);
	p->line = line;
	for (size_t i = 0; i < c->npeers; i++) {
		const char *what = config_same_in(p, &c->peers[i]);

		if (!what)
			continue;
		config_complain(r, line, "peer \"%s\": same %s as peer \"%s\" on line %d", title,
				what, c->peers[i].text, c->peers[i].line);
		return;
	}
	c->npeers++;
}

static const struct config_peer *config_own_peer(const struct config *c)
{
	for (size_t i = 0; c->has_node && i < c->npeers; i++)
		if (c->peers[i].code.index == c->node.index)
			return &c->peers[i];
	return NULL;
}

/* The node listens on the address of its own peer block, or on `address` if it has none. */
static void config_take_own(struct config_reader *r)
{
	struct config *c = r->config;
	const struct config_peer *own = config_own_peer(c);
	char node[EH_CODE_TEXT];

	if (own) {
		if (c->address.length && strcmp(c->address.text, own->address.text))
			config_complain(r, c->address_line, "address: peer \"%s\" says %s",
					own->text, own->address.text);
		strcpy(c->host, own->host);
		c->address = own->address;
		c->address_line = own->line;
	} else if (!c->njoin) {
		config_complain(r, r->last, "node: there is no peer block \"%s\"",
				eh_code_format(&c->topology, c->node, node));
	} else if (!c->address.length) {
		config_complain(r, r->last,
				"address is missing: a node that joins needs an address to "
				"listen on");
	}
}

static int config_take_nodes(struct config_reader *r)
{
	const char *node = cfg_getstr(r->cfg, "node");
	unsigned int npeers = cfg_size(r->cfg, "peer");
	struct config *c = r->config;

	if (!c->topology.n && (!c->njoin || node || npeers)) {
		config_complain(r, r->last, "topology is missing");
		return 0;
	}
	if (!node && !c->njoin) {
		config_complain(r, r->last, "node is missing (or join, to be assigned a code)");
		return 0;
	}
	c->peers = calloc(npeers + 1, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	for (unsigned int i = 0; i < npeers; i++)
		config_take_peer(r, cfg_getnsec(r->cfg, "peer", i));
	c->has_node = node;
	if (node && (eh_code_parse(&c->topology, node, &c->node) || c->node.level)) {
		config_complain(r, r->last, "node: \"%s\" is not a node code of topology %u,%u",
				node, c->topology.n, c->topology.l);
		return 0;
	}
	config_take_own(r);
	return 0;
}

static int config_take(struct config_reader *r, const char *const *join)
{
	int err = config_take_options(r);

	if (!err)
		err = config_take_join(r, join);
	if (!err)
		err = config_take_nodes(r);
	return err;
}

struct config *config_read(const char *file, const char *const *join, FILE *errors)
{
	struct config_reader r = { .file = file, .errors = errors };
	char *text = config_file_read(file, errors);

	if (!text)
		return NULL;
	r.config = calloc(1, sizeof(*r.config));
	r.cfg = r.config ? config_parser(&r) : NULL;
	if (!r.cfg) {
		config_complain(&r, 1, "out of memory");
		goto free_text;
	}
	r.config->address_line = 1;
	if (*text && cfg_parse_buf(r.cfg, text) != CFG_SUCCESS) {
		if (!r.nerrors)
			config_complain(&r, r.cfg->line > 0 ? r.cfg->line : 1, "syntax error");
		goto free_cfg;
	}
	r.last = r.cfg->line > 0 ? r.cfg->line : 1;
	r.config->file = strdup(file);
	if (!r.config->file || config_take(&r, join))
		config_complain(&r, 1, "out of memory");
free_cfg:
	cfg_free(r.cfg);
free_text:
	free(text);
	if (!r.nerrors)
		return r.config;
	config_free(r.config);
	return NULL;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (const struct config_option *o = config_options; o->name; o++)
		if (o->kind->free)
			o->kind->free(c, o);
	free(c->peers);
	free(c->file);
	free(c);
}

bool config_adopt(struct config *c, const char *host, const struct eh_topology *topology,
		  struct eh_code node, FILE *errors)
{
	if (*c->host && strcmp(c->host, host)) {
		fprintf(errors, "%s:%d: host: \"%s\" is not the CN of the certificate, \"%s\"\n",
			c->file, c->address_line, c->host, host);
		return false;
	}
	if (c->topology.n && (c->topology.n != topology->n || c->topology.l != topology->l)) {
		fprintf(errors,
			"%s:1: topology: %u,%u is not the topology of the cluster, "
			"%u,%u\n",
			c->file, c->topology.n, c->topology.l, topology->n, topology->l);
		return false;
	}
	if (!*c->host)
		snprintf(c->host, sizeof(c->host), "%s", host);
	c->topology = *topology;
	c->node = node;
	return true;
}

bool config_may_replace(const struct config *from, const struct config *to, FILE *errors)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		if (!o->fixed || o->kind->is_same(from, to, o))
			continue;
		fprintf(errors, "%s:1: %s cannot change while the agent runs: restart the agent\n",
			to->file, o->called ?: o->name);
		return false;
	}
	return true;
}

bool config_excludes(const struct config *config, const char *program)
{
	for (size_t i = 0; i < config->nexclude; i++)
		if (!fnmatch(config->exclude[i], program, 0))
			return true;
	return false;
}
