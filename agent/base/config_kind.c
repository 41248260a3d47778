// SPDX-License-Identifier: GPL-2.0-or-later
/* What each option of the configuration may be: checked while the parser still stands at its line. */

#include "base/config_kind.h"

#include <confuse.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <linux/ehsched.h>

#include "base/config.h"
#include "base/log_level.h"
#include "cluster/address.h"
#include "eh/topology.h"
#include "wire/view.h"

#define CONFIG_TASKS_MAX (EHS_MAX_LOAD / 1000.0)
#define CONFIG_PORT "7411"
#define CONFIG_WHY 256

struct config_lines config_lines;

static const char *const config_files[CONFIG_FILES] = { "certificate", "key", "authority" };

struct config_range {
	const char *name;
	double min, max;
	const char *unit;
};

static const struct config_range config_ranges[] = {
	{ "threshold", 0, CONFIG_TASKS_MAX, "tasks" },
	{ "threshold-floor", 0, CONFIG_TASKS_MAX, "tasks" },
	{ "threshold-length", 0, CONFIG_TASKS_MAX, "tasks" },
	{ "capacity", 0.001, CONFIG_TASKS_MAX, "tasks" },
	{ "dwell", 0, 60000, "ms" },
	{ "time-limit", 1, EHS_MAX_TIME_LIMIT, "ms" },
	{ "lease", 100, 60000, "ms" },
	{ "heartbeat", 100, 60000, "ms" },
	{ "link-idle", 100, 86400000, "ms" },
	{ "guests", 0, 100000, "guests" },
	{ "headroom", 0, 1 << 30, "MiB" },
};

static int config_check_range(cfg_t *cfg, cfg_opt_t *opt)
{
	const struct config_range *r = NULL;
	double value;

	for (size_t i = 0; i < sizeof(config_ranges) / sizeof(config_ranges[0]); i++)
		if (!strcmp(config_ranges[i].name, opt->name))
			r = &config_ranges[i];
	value = opt->type == CFGT_INT ? (double)cfg_opt_getnint(opt, 0) : cfg_opt_getnfloat(opt, 0);
	if (r && (isnan(value) || value < r->min || value > r->max)) {
		cfg_error(cfg, "%s: %g is not between %g and %g %s", opt->name, value, r->min,
			  r->max, r->unit);
		return -1;
	}
	return 0;
}

static int config_check_text(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);

	if (!value || !*value || strlen(value) > 1023) {
		cfg_error(cfg, "%s: empty, or longer than 1023 bytes", opt->name);
		return -1;
	}
	return 0;
}

static int config_check_path(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);

	if (config_check_text(cfg, opt))
		return -1;
	if (value[0] != '/') {
		cfg_error(cfg, "%s: %s is not an absolute path", opt->name, value);
		return -1;
	}
	return 0;
}

static int config_check_file(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, 0);

	for (int i = 0; i < CONFIG_FILES; i++)
		if (!strcmp(opt->name, config_files[i]))
			config_lines.files[i] = cfg->line;

	if (config_check_path(cfg, opt))
		return -1;
	if (access(value, R_OK)) {
		cfg_error(cfg, "%s: %s: %s", opt->name, value, strerror(errno));
		return -1;
	}
	return 0;
}

static const char *const config_indexes[] = { "runnable", "tasks", "cpu", NULL };
static const char *const config_carriers[] = { "fuse", "9p", NULL };

static int config_one_of(const char *value, const char *const names[])
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(value, names[i]))
			return i;
	return -1;
}

int config_index_of(const char *name)
{
	return config_one_of(name, config_indexes);
}

int config_carrier_of(const char *name)
{
	return config_one_of(name, config_carriers);
}

static int config_check_index(cfg_t *cfg, cfg_opt_t *opt)
{
	if (config_one_of(cfg_opt_getnstr(opt, 0), config_indexes) >= 0)
		return 0;
	cfg_error(cfg, "load-index: \"%s\" is not runnable, tasks or cpu", cfg_opt_getnstr(opt, 0));
	return -1;
}

static int config_check_view(cfg_t *cfg, cfg_opt_t *opt)
{
	if (view_parse(cfg_opt_getnstr(opt, 0)) != VIEW_UNSET)
		return 0;
	cfg_error(cfg, "view: \"%s\" is not shared, home or auto", cfg_opt_getnstr(opt, 0));
	return -1;
}

static int config_check_carrier(cfg_t *cfg, cfg_opt_t *opt)
{
	if (config_one_of(cfg_opt_getnstr(opt, 0), config_carriers) >= 0)
		return 0;
	cfg_error(cfg, "view-carrier: \"%s\" is not fuse or 9p", cfg_opt_getnstr(opt, 0));
	return -1;
}

static int config_check_log(cfg_t *cfg, cfg_opt_t *opt)
{
	struct log_levels levels;
	char why[CONFIG_WHY];

	if (log_levels_parse(cfg_opt_getnstr(opt, 0), &levels, why, sizeof(why)))
		return 0;
	cfg_error(cfg, "log: %s", why);
	return -1;
}

static int config_check_topology(cfg_t *cfg, cfg_opt_t *opt)
{
	struct eh_topology t;

	if (!eh_topology_parse(cfg_opt_getnstr(opt, 0), &t))
		return 0;
	cfg_error(cfg, "topology: \"%s\" is not n,l with n from 1 to %d, l from 1 to %d, n*l <= 30",
		  cfg_opt_getnstr(opt, 0), EH_N_MAX, EH_LEVELS_MAX);
	return -1;
}

static int config_check_address(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, 0);
	struct address address;

	if (!address_parse(value, &address))
		return 0;
	cfg_error(cfg,
		  "address: \"%s\" is not ADDRESS:PORT or [ADDRESS]:PORT with a numeric address",
		  value);
	return -1;
}

static int config_check_own_address(cfg_t *cfg, cfg_opt_t *opt)
{
	config_lines.address = cfg->line;
	return config_check_address(cfg, opt);
}

int config_parse_join(const char *text, struct address *out)
{
	char with[ADDRESS_TEXT];

	if (!address_parse(text, out))
		return 0;
	if (snprintf(with, sizeof(with), "%s:" CONFIG_PORT, text) >= (int)sizeof(with))
		return -EINVAL;
	return address_parse(with, out);
}

static int config_check_join(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
	struct address address;

	if (!config_parse_join(value, &address))
		return 0;
	cfg_error(cfg, "join: \"%s\" is not ADDRESS or ADDRESS:PORT with a numeric address", value);
	return -1;
}

static int config_check_host(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *value = cfg_opt_getnstr(opt, 0);

	if (*value && strlen(value) <= ADDRESS_HOST_MAX)
		return 0;
	cfg_error(cfg, "host: empty, or longer than %d bytes, the limit of a CN", ADDRESS_HOST_MAX);
	return -1;
}

void config_check(cfg_t *cfg)
{
	static const char *const texts[] = { "cluster", "node" };
	static const char *const paths[] = { "cgroup", "stub", "state", "view-own" };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cfg_set_validate_func(cfg, texts[i], config_check_text);
	for (i = 0; i < CONFIG_FILES; i++)
		cfg_set_validate_func(cfg, config_files[i], config_check_file);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		cfg_set_validate_func(cfg, paths[i], config_check_path);
	for (i = 0; i < sizeof(config_ranges) / sizeof(config_ranges[0]); i++)
		cfg_set_validate_func(cfg, config_ranges[i].name, config_check_range);
	cfg_set_validate_func(cfg, "topology", config_check_topology);
	cfg_set_validate_func(cfg, "load-index", config_check_index);
	cfg_set_validate_func(cfg, "view", config_check_view);
	cfg_set_validate_func(cfg, "view-carrier", config_check_carrier);
	cfg_set_validate_func(cfg, "log", config_check_log);
	cfg_set_validate_func(cfg, "address", config_check_own_address);
	cfg_set_validate_func(cfg, "join", config_check_join);
	cfg_set_validate_func(cfg, "peer|host", config_check_host);
	cfg_set_validate_func(cfg, "peer|address", config_check_address);
}
