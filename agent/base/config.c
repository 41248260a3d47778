// SPDX-License-Identifier: GPL-2.0-or-later
/* The configuration file, read with libconfuse. */

#include "base/config.h"

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_kind.h"
#include "cluster/address.h"
#include "eh/topology.h"
#include "wire/view.h"

#define CONFIG_FILE_MAX (4 << 20)

/*
 * libconfuse calls its error function without a context of ours, and keeps no
 * line of an option. All options are checked by callbacks, while the parser
 * still stands at their line; the rest (what is missing) has the line of the
 * peer block, or the file's last.
 */
static FILE *config_errors;
static unsigned int config_error_count;
static const char *config_file;
static void config_error(cfg_t *cfg, const char *format, va_list args)
{
	config_error_count++;
	fprintf(config_errors, "%s:%d: ", config_file, cfg && cfg->line ? cfg->line : 1);
	vfprintf(config_errors, format, args);
	fputc('\n', config_errors);
}

static void __attribute__((format(printf, 2, 3))) config_complain(int line, const char *format, ...)
{
	va_list args;

	config_error_count++;
	fprintf(config_errors, "%s:%d: ", config_file, line);
	va_start(args, format);
	vfprintf(config_errors, format, args);
	va_end(args);
	fputc('\n', config_errors);
}

static void config_add_peer(struct config *c, cfg_t *sec, int last_line)
{
	int line = sec->line > 0 ? sec->line : last_line;
	const char *title = cfg_title(sec);
	const char *host = cfg_getstr(sec, "host");
	const char *address = cfg_getstr(sec, "address");
	struct config_peer *p = &c->peers[c->npeers];

	if (!host || !address) {
		config_complain(line, "peer \"%s\": %s is missing", title,
				host ? "address" : "host");
		return;
	}
	if (eh_code_parse(&c->topology, title, &p->code) || p->code.level) {
		config_complain(line, "peer \"%s\": not a node code of topology %u,%u", title,
				c->topology.n, c->topology.l);
		return;
	}
	eh_code_format(&c->topology, p->code, p->text);
	address_parse(address, &p->address);
	p->line = line;
	for (size_t i = 0; i < c->npeers; i++) {
		const struct config_peer *q = &c->peers[i];
		const char *what = NULL;

		if (q->code.index == p->code.index)
			what = "code";
		else if (!strcmp(q->host, host))
			what = "host";
		else if (!memcmp(&q->address.sa, &p->address.sa, sizeof(q->address.sa)))
			what = "address";
		if (!what)
			continue;
		config_complain(line, "peer \"%s\": same %s as peer \"%s\" on line %d", title, what,
				q->text, q->line);
		return;
	}
	strcpy(p->host, host);
	c->npeers++;
}

static uint32_t config_tasks(cfg_t *cfg, const char *name, uint32_t otherwise)
{
	double value = cfg_getfloat(cfg, name);

	return value < 0 ? otherwise : (uint32_t)(value * 1000 + 0.5);
}

static int config_copy(char **to, cfg_t *cfg, const char *name)
{
	const char *value = cfg_getstr(cfg, name);

	if (!value) {
		config_complain(cfg->line > 0 ? cfg->line : 1, "%s is missing", name);
		return 0;
	}
	*to = strdup(value);
	return *to ? 0 : -ENOMEM;
}

static int config_copy_list(char ***to, size_t *n, cfg_t *cfg, const char *name)
{
	*to = calloc(cfg_size(cfg, name) + 1, sizeof(**to));
	if (!*to)
		return -ENOMEM;
	for (; *n < cfg_size(cfg, name); ++*n) {
		(*to)[*n] = strdup(cfg_getnstr(cfg, name, *n));
		if (!(*to)[*n])
			return -ENOMEM;
	}
	return 0;
}

static void config_free_list(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static int config_take_strings(struct config *c, cfg_t *cfg)
{
	struct {
		char **to;
		const char *name;
	} all[] = {
		{ &c->cluster, "cluster" }, { &c->certificate, "certificate" },
		{ &c->key, "key" },	    { &c->authority, "authority" },
		{ &c->cgroup, "cgroup" },   { &c->stub, "stub" },
		{ &c->state, "state" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (config_copy(all[i].to, cfg, all[i].name))
			return -ENOMEM;
	return config_copy_list(&c->exclude, &c->nexclude, cfg, "exclude")
		       ?: config_copy_list(&c->view_own, &c->nview_own, cfg, "view-own");
}

static void config_take_numbers(struct config *c, cfg_t *cfg)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t per = processors > 0 ? processors * 1000 : 1000;

	c->load_index = config_index_of(cfg_getstr(cfg, "load-index"));
	c->view = view_parse(cfg_getstr(cfg, "view"));
	c->view_9p = config_carrier_of(cfg_getstr(cfg, "view-carrier"));
	log_levels_parse(cfg_getstr(cfg, "log"), &c->log, NULL, 0);
	c->threshold = config_tasks(cfg, "threshold", per);
	c->threshold_floor = config_tasks(cfg, "threshold-floor", per);
	c->threshold_length = config_tasks(cfg, "threshold-length", 1000);
	c->capacity = config_tasks(cfg, "capacity", per);
	c->dwell = cfg_getint(cfg, "dwell");
	c->time_limit = cfg_getint(cfg, "time-limit");
	c->lease = cfg_getint(cfg, "lease");
	c->heartbeat = cfg_getint(cfg, "heartbeat");
	c->link_idle = cfg_getint(cfg, "link-idle");
	c->guests = cfg_getint(cfg, "guests");
	c->headroom = cfg_getint(cfg, "headroom");
	c->allow_root = cfg_getbool(cfg, "allow-root");
	c->lazy = cfg_getbool(cfg, "lazy-thresholds");
}

static int config_take_join(struct config *c, cfg_t *cfg, const char *const *join)
{
	size_t given = cfg_size(cfg, "join"), n = 0;

	while (join && join[n])
		n++;
	c->join = calloc(n + given + 1, sizeof(*c->join));
	if (!c->join)
		return -ENOMEM;
	for (size_t i = 0; i < n + given; i++)
		if (!config_parse_join(i < n ? join[i] : cfg_getnstr(cfg, "join", i - n),
				       &c->join[c->njoin]))
			c->njoin++;
	return 0;
}

/* Where this node is to be found: its peer block says it, or `address`. */
static void config_take_own(struct config *c, cfg_t *cfg, int last)
{
	const char *address = cfg_getstr(cfg, "address");
	char node[EH_CODE_TEXT];

	c->address_line = config_lines.address;
	if (address)
		address_parse(address, &c->address);
	for (size_t i = 0; c->has_node && i < c->npeers; i++) {
		const struct config_peer *p = &c->peers[i];

		if (p->code.index != c->node.index)
			continue;
		if (address && strcmp(address, p->address.text))
			config_complain(config_lines.address, "address: peer \"%s\" says %s",
					p->text, p->address.text);
		strcpy(c->host, p->host);
		c->address = p->address;
		c->address_line = p->line;
		return;
	}
	if (!c->njoin)
		config_complain(last, "node: there is no peer block \"%s\"",
				eh_code_format(&c->topology, c->node, node));
	else if (!address)
		config_complain(last, "address is missing: a node that joins needs an address to "
				      "listen on");
}

static int config_take_nodes(struct config *c, cfg_t *cfg)
{
	const char *topology = cfg_getstr(cfg, "topology");
	const char *node = cfg_getstr(cfg, "node");
	int last = cfg->line > 0 ? cfg->line : 1;

	if (!topology && (!c->njoin || node || cfg_size(cfg, "peer"))) {
		config_complain(last, "topology is missing");
		return 0;
	}
	if (!node && !c->njoin) {
		config_complain(last, "node is missing (or join, to be assigned a code)");
		return 0;
	}
	if (topology)
		eh_topology_parse(topology, &c->topology);
	c->peers = calloc(cfg_size(cfg, "peer") + 1, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	for (unsigned int i = 0; i < cfg_size(cfg, "peer"); i++)
		config_add_peer(c, cfg_getnsec(cfg, "peer", i), last);
	c->has_node = node;
	if (node && (eh_code_parse(&c->topology, node, &c->node) || c->node.level)) {
		config_complain(last, "node: \"%s\" is not a node code of topology %u,%u", node,
				c->topology.n, c->topology.l);
		return 0;
	}
	config_take_own(c, cfg, last);
	return 0;
}

static int config_take(struct config *c, cfg_t *cfg, const char *const *join)
{
	int err = config_take_strings(c, cfg);

	if (!err)
		err = config_take_join(c, cfg, join);
	if (err)
		return err;
	config_take_numbers(c, cfg);
	return config_take_nodes(c, cfg);
}

/*
 * The whole file, 0-terminated, or NULL with a complaint. libconfuse's scanner
 * would end the process if it could not read (a folder, say), which a running
 * agent that reloads must not risk.
 */
static char *config_load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		config_complain(1, "cannot read: %s", strerror(errno));
		goto close_file;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > CONFIG_FILE_MAX) {
		config_complain(1, "not a regular file, or larger than %d bytes", CONFIG_FILE_MAX);
		goto close_file;
	}
	text = malloc(st.st_size + 1);
	n = text ? read(fd, text, st.st_size) : -1;
	if (n < 0 || memchr(text, 0, n)) {
		config_complain(1, "cannot read: %s", n < 0 ? strerror(errno) : "not a text file");
		free(text);
		text = NULL;
		goto close_file;
	}
	text[n] = '\0';
close_file:
	if (fd >= 0)
		close(fd);
	return text;
}

/* libconfuse 3.3 counts the line of a comment three times: it gets none to see. */
static void config_blank_comments(char *text)
{
	char quote = 0;

	for (; *text; text++) {
		if (quote) {
			if (*text == '\\' && text[1])
				text++;
			else if (*text == quote)
				quote = 0;
		} else if (*text == '"' || *text == '\'') {
			quote = *text;
		} else if (*text == '#') {
			while (*text && *text != '\n')
				*text++ = ' ';
			if (!*text)
				return;
		}
	}
}

struct config *config_read(const char *file, const char *const *join, FILE *errors)
{
	/* -1: not given, see config_tasks() */
	cfg_opt_t peer[] = { CFG_STR("host", NULL, CFGF_NODEFAULT),
			     CFG_STR("address", NULL, CFGF_NODEFAULT), CFG_END() };
	cfg_opt_t options[] = { CFG_STR("cluster", NULL, CFGF_NODEFAULT),
				CFG_STR("node", NULL, CFGF_NODEFAULT),
				CFG_STR("topology", NULL, CFGF_NODEFAULT),
				CFG_STR("certificate", NULL, CFGF_NODEFAULT),
				CFG_STR("key", NULL, CFGF_NODEFAULT),
				CFG_STR("authority", NULL, CFGF_NODEFAULT),
				CFG_STR("cgroup", "/sys/fs/cgroup/ehsched.slice", CFGF_NONE),
				CFG_STR("stub", "/usr/libexec/ehsched/ehstub", CFGF_NONE),
				CFG_STR("state", "/var/lib/ehsched/state.json", CFGF_NONE),
				CFG_STR("address", NULL, CFGF_NODEFAULT),
				CFG_STR_LIST("join", NULL, CFGF_NONE),
				CFG_STR("load-index", "runnable", CFGF_NONE),
				CFG_FLOAT("threshold", -1, CFGF_NONE),
				CFG_FLOAT("threshold-floor", -1, CFGF_NONE),
				CFG_FLOAT("threshold-length", -1, CFGF_NONE),
				CFG_FLOAT("capacity", -1, CFGF_NONE),
				CFG_INT("dwell", 1000, CFGF_NONE),
				CFG_INT("time-limit", 100, CFGF_NONE),
				CFG_INT("lease", 10000, CFGF_NONE),
				CFG_INT("heartbeat", 1000, CFGF_NONE),
				CFG_INT("link-idle", 60000, CFGF_NONE),
				CFG_INT("guests", 64, CFGF_NONE),
				CFG_INT("headroom", 64, CFGF_NONE),
				CFG_BOOL("allow-root", cfg_false, CFGF_NONE),
				CFG_BOOL("lazy-thresholds", cfg_false, CFGF_NONE),
				CFG_STR("view", "shared", CFGF_NONE),
				CFG_STR_LIST("view-own", NULL, CFGF_NONE),
				CFG_STR("view-carrier", "fuse", CFGF_NONE),
				CFG_STR_LIST("exclude", NULL, CFGF_NONE),
				CFG_STR("log", "info", CFGF_NONE),
				CFG_SEC("peer", peer,
					CFGF_TITLE | CFGF_MULTI | CFGF_NO_TITLE_DUPES),
				CFG_END() };
	struct config *c = NULL;
	cfg_t *cfg;
	char *text;

	config_errors = errors;
	config_error_count = 0;
	config_file = file;
	config_lines = (struct config_lines){ .address = 1 };

	text = config_load(file);
	if (!text)
		return NULL;
	config_blank_comments(text);
	cfg = cfg_init(options, CFGF_NONE);
	if (!cfg) {
		config_complain(1, "out of memory");
		goto free_text;
	}
	cfg_set_error_function(cfg, config_error);
	config_check(cfg);
	if (*text && cfg_parse_buf(cfg, text) != CFG_SUCCESS) {
		if (!config_error_count)
			config_complain(cfg->line > 0 ? cfg->line : 1, "syntax error");
		goto free_cfg;
	}
	c = calloc(1, sizeof(*c));
	if (!c || !(c->file = strdup(file)) || config_take(c, cfg, join))
		config_complain(1, "out of memory");
	else
		memcpy(c->lines, config_lines.files, sizeof(c->lines));
	if (config_error_count) {
		config_free(c);
		c = NULL;
	}
free_cfg:
	cfg_free(cfg);
free_text:
	free(text);
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	config_free_list(c->exclude, c->nexclude);
	config_free_list(c->view_own, c->nview_own);
	free(c->peers);
	free(c->join);
	free(c->file);
	free(c->cluster);
	free(c->certificate);
	free(c->key);
	free(c->authority);
	free(c->cgroup);
	free(c->stub);
	free(c->state);
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
	const char *what = NULL;

	if (strcmp(from->cluster, to->cluster))
		what = "cluster";
	else if (from->topology.n != to->topology.n || from->topology.l != to->topology.l)
		what = "topology";
	else if (from->node.index != to->node.index)
		what = "node";
	else if (strcmp(from->cgroup, to->cgroup))
		what = "cgroup";
	else if (strcmp(from->address.text, to->address.text))
		what = "the node's own address";
	if (!what)
		return true;
	fprintf(errors, "%s:1: %s cannot change while the agent runs: restart the agent\n",
		to->file, what);
	return false;
}

bool config_excludes(const struct config *config, const char *program)
{
	for (size_t i = 0; i < config->nexclude; i++)
		if (!fnmatch(config->exclude[i], program, 0))
			return true;
	return false;
}
