// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/config_kind.h"

#include <confuse.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log_level.h"
#include "cert/name.h"
#include "cluster/address.h"
#include "eh/topology.h"
#include "site/label.h"
#include "site/map.h"
#include "site/what.h"
#include "site/who.h"

#define KIND_PORT "7411"
#define TEXT_MAX 1023
#define WHY_MAX 256

static void *kind_field(void *record, size_t offset)
{
	return (char *)record + offset;
}

static const void *kind_value(const void *record, size_t offset)
{
	return (const char *)record + offset;
}

/* The value that was read last; of a list, its last item. */
static const char *kind_latest(cfg_opt_t *given)
{
	return cfg_opt_getnstr(given, cfg_opt_size(given) - 1);
}

/* ---- strings ---- */

static int kind_check_text(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	const char *value = kind_latest(given);

	if (*value && strlen(value) <= TEXT_MAX)
		return 0;
	cfg_error(cfg, "%s: empty, or longer than %d bytes", o->name, TEXT_MAX);
	return -1;
}

static int kind_check_path(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	const char *value = kind_latest(given);

	if (kind_check_text(cfg, o, given))
		return -1;
	if (value[0] == '/')
		return 0;
	cfg_error(cfg, "%s: %s is not an absolute path", o->name, value);
	return -1;
}

static int kind_check_file(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	const char *value = kind_latest(given);

	if (kind_check_path(cfg, o, given))
		return -1;
	if (!access(value, R_OK))
		return 0;
	cfg_error(cfg, "%s: %s: %s", o->name, value, strerror(errno));
	return -1;
}

static int kind_take_text(void *record, const struct config_option *o, cfg_opt_t *given)
{
	char **to = kind_field(record, o->offset);

	*to = strdup(cfg_opt_getnstr(given, 0));
	return *to ? 0 : -ENOMEM;
}

static bool kind_same_text(const void *a, const void *b, const struct config_option *o)
{
	char *const *x = kind_value(a, o->offset), *const *y = kind_value(b, o->offset);

	return !strcmp(*x, *y);
}

static void kind_free_pointer(void *record, const struct config_option *o)
{
	void **at = kind_field(record, o->offset);

	free(*at);
}

static int kind_take_texts(void *record, const struct config_option *o, cfg_opt_t *given)
{
	char ***to = kind_field(record, o->offset);
	size_t *n = kind_field(record, o->count);

	*to = calloc(cfg_opt_size(given) + 1, sizeof(**to));
	if (!*to)
		return -ENOMEM;
	for (; *n < cfg_opt_size(given); ++*n) {
		(*to)[*n] = strdup(cfg_opt_getnstr(given, *n));
		if (!(*to)[*n])
			return -ENOMEM;
	}
	return 0;
}

static void kind_free_texts(void *record, const struct config_option *o)
{
	char ***list = kind_field(record, o->offset);
	const size_t *n = kind_value(record, o->count);

	for (size_t i = 0; i < *n; i++)
		free((*list)[i]);
	free(*list);
}

#define KIND_TEXT                                                            \
	.type = CFGT_STR, .take = kind_take_text, .is_same = kind_same_text, \
	.free = kind_free_pointer
#define KIND_TEXTS \
	.type = CFGT_STR, .is_list = true, .take = kind_take_texts, .free = kind_free_texts

const struct config_kind config_kind_text = { KIND_TEXT, .check = kind_check_text };
const struct config_kind config_kind_path = { KIND_TEXT, .check = kind_check_path };
const struct config_kind config_kind_file = { KIND_TEXT, .check = kind_check_file };
const struct config_kind config_kind_texts = { KIND_TEXTS };
const struct config_kind config_kind_paths = { KIND_TEXTS, .check = kind_check_path };

/* ---- strings of a form, and rules of a site ---- */

static int kind_check_form(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	const struct config_kind *kind = o->kind;

	if (kind->most && cfg_opt_size(given) > kind->most) {
		cfg_error(cfg, "%s: more than %u items", o->name, kind->most);
		return -1;
	}
	if (kind->check_first && kind->check_first(cfg, o, given))
		return -1;
	if (kind->is_good(kind_latest(given)))
		return 0;
	cfg_error(cfg, "%s: \"%s\" %s", o->name, kind_latest(given), kind->is_bad);
	return -1;
}

#define KIND_RULES KIND_TEXTS, .check = kind_check_form, .most = SITE_ITEMS_MAX
#define KIND_DIGITS(number) KIND_QUOTED(number)
#define KIND_QUOTED(number) #number

const struct config_kind config_kind_nodes = {
	KIND_RULES,
	.is_good = cert_is_host,
	.is_bad = "is not a name that a host can have",
};

const struct config_kind config_kind_labels = {
	KIND_TEXTS,
	.check = kind_check_form,
	.most = SITE_LABELS_MAX,
	.is_good = site_label_is_good,
	.is_bad = "is not a label: at most " KIND_DIGITS(
		SITE_LABEL_MAX) " letters, digits, \".\", \"_\" and \"-\"",
};

const struct config_kind config_kind_label_rules = {
	KIND_RULES,
	.check_first = kind_check_text,
	.is_good = site_label_rule_is_good,
	.is_bad = "is not LABEL:PATH with an absolute path without \".\", \"..\" and \"//\"",
};

const struct config_kind config_kind_whos = {
	KIND_RULES,
	.is_good = site_who_is_good,
	.is_bad = "is not USER, UID, @GROUP or @GID",
};

const struct config_kind config_kind_user_map = {
	KIND_RULES,
	.is_good = site_map_is_good,
	.is_bad = "is not \"*\" or THERE=HERE, the names of two users, the second not root",
};

const struct config_kind config_kind_programs = {
	KIND_RULES,
	.check_first = kind_check_path,
	.is_good = site_path_is_good,
	.is_bad = "has \".\", \"..\", \"//\" or a control character in it",
};

/* ---- numbers ---- */

static void kind_store(void *record, const struct config_option *o, uint64_t value)
{
	void *to = kind_field(record, o->offset);

	if (o->size == sizeof(uint64_t))
		*(uint64_t *)to = value;
	else if (o->size == sizeof(uint32_t))
		*(uint32_t *)to = value;
	else
		*(bool *)to = value;
}

static int kind_check_limits(cfg_t *cfg, const struct config_option *o, double value)
{
	if (value >= o->min && value <= o->max)
		return 0;
	cfg_error(cfg, "%s: %.12g is not between %.12g and %.12g %s", o->name, value, o->min,
		  o->max, o->unit);
	return -1;
}

static int kind_check_number(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	return kind_check_limits(cfg, o, cfg_opt_getnint(given, 0));
}

static int kind_check_tasks(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	return kind_check_limits(cfg, o, cfg_opt_getnfloat(given, 0));
}

static int kind_take_number(void *record, const struct config_option *o, cfg_opt_t *given)
{
	kind_store(record, o, cfg_opt_getnint(given, 0));
	return 0;
}

static int kind_take_tasks(void *record, const struct config_option *o, cfg_opt_t *given)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	double tasks = processors > 0 ? processors : 1;

	if (cfg_opt_size(given))
		tasks = cfg_opt_getnfloat(given, 0);
	/* NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative */
	kind_store(record, o, (uint32_t)(tasks * 1000 + 0.5));
	return 0;
}

static int kind_take_flag(void *record, const struct config_option *o, cfg_opt_t *given)
{
	kind_store(record, o, cfg_opt_getnbool(given, 0));
	return 0;
}

const struct config_kind config_kind_number = {
	.type = CFGT_INT,
	.check = kind_check_number,
	.take = kind_take_number,
};

const struct config_kind config_kind_tasks = {
	.type = CFGT_FLOAT,
	.check = kind_check_tasks,
	.take = kind_take_tasks,
};

static bool kind_same_flag(const void *a, const void *b, const struct config_option *o)
{
	return *(const bool *)((const char *)a + o->offset) ==
	       *(const bool *)((const char *)b + o->offset);
}

const struct config_kind config_kind_flag = {
	.type = CFGT_BOOL,
	.take = kind_take_flag,
	.is_same = kind_same_flag,
};

/* ---- words ---- */

static int kind_find_word(const struct config_option *o, const char *word)
{
	for (int i = 0; o->words[i]; i++)
		if (!strcmp(o->words[i], word))
			return i;
	return -1;
}

static int kind_check_word(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	char allowed[WHY_MAX] = "";

	if (kind_find_word(o, kind_latest(given)) >= 0)
		return 0;
	for (int i = 0; o->words[i]; i++) {
		const char *before = !i ? "" : o->words[i + 1] ? ", " : " or ";
		size_t at = strlen(allowed);

		snprintf(allowed + at, sizeof(allowed) - at, "%s%s", before, o->words[i]);
	}
	cfg_error(cfg, "%s: \"%s\" is not %s", o->name, kind_latest(given), allowed);
	return -1;
}

static int kind_take_word(void *record, const struct config_option *o, cfg_opt_t *given)
{
	kind_store(record, o, o->first_word + kind_find_word(o, cfg_opt_getnstr(given, 0)));
	return 0;
}

static int kind_check_log(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	struct log_levels levels;
	char why[WHY_MAX];

	if (log_levels_parse(kind_latest(given), &levels, why, sizeof(why)))
		return 0;
	cfg_error(cfg, "%s: %s", o->name, why);
	return -1;
}

static int kind_take_log(void *record, const struct config_option *o, cfg_opt_t *given)
{
	log_levels_parse(cfg_opt_getnstr(given, 0), kind_field(record, o->offset), NULL, 0);
	return 0;
}

const struct config_kind config_kind_word = {
	.type = CFGT_STR,
	.check = kind_check_word,
	.take = kind_take_word,
};

const struct config_kind config_kind_log = {
	.type = CFGT_STR,
	.check = kind_check_log,
	.take = kind_take_log,
};

/* ---- nodes and their addresses: they have no default ---- */

static int kind_check_topology(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	struct eh_topology t;

	if (!eh_topology_parse(kind_latest(given), &t))
		return 0;
	cfg_error(cfg, "%s: \"%s\" is not n,l with n from 1 to %d, l from 1 to %d, n*l <= 30",
		  o->name, kind_latest(given), EH_N_MAX, EH_LEVELS_MAX);
	return -1;
}

static int kind_take_topology(void *record, const struct config_option *o, cfg_opt_t *given)
{
	if (cfg_opt_size(given))
		eh_topology_parse(cfg_opt_getnstr(given, 0), kind_field(record, o->offset));
	return 0;
}

static bool kind_same_topology(const void *a, const void *b, const struct config_option *o)
{
	const struct eh_topology *x = kind_value(a, o->offset), *y = kind_value(b, o->offset);

	return x->n == y->n && x->l == y->l;
}

static bool kind_same_code(const void *a, const void *b, const struct config_option *o)
{
	const struct eh_code *x = kind_value(a, o->offset), *y = kind_value(b, o->offset);

	return x->index == y->index;
}

static bool kind_is_address(const char *text)
{
	struct address address;

	return !address_parse(text, &address);
}

static int kind_take_address(void *record, const struct config_option *o, cfg_opt_t *given)
{
	if (cfg_opt_size(given))
		address_parse(cfg_opt_getnstr(given, 0), kind_field(record, o->offset));
	return 0;
}

static bool kind_same_address(const void *a, const void *b, const struct config_option *o)
{
	const struct address *x = kind_value(a, o->offset), *y = kind_value(b, o->offset);

	return !strcmp(x->text, y->text);
}

int config_parse_join(const char *text, struct address *out)
{
	char with[ADDRESS_TEXT];

	if (!address_parse(text, out))
		return 0;
	if (snprintf(with, sizeof(with), "%s:" KIND_PORT, text) >= (int)sizeof(with))
		return -EINVAL;
	return address_parse(with, out);
}

static bool kind_is_join(const char *text)
{
	struct address address;

	return !config_parse_join(text, &address);
}

static int kind_check_host(cfg_t *cfg, const struct config_option *o, cfg_opt_t *given)
{
	const char *value = kind_latest(given);

	if (*value && strlen(value) <= ADDRESS_HOST_MAX)
		return 0;
	cfg_error(cfg, "%s: empty, or longer than %d bytes, the limit of a CN", o->name,
		  ADDRESS_HOST_MAX);
	return -1;
}

static int kind_take_host(void *record, const struct config_option *o, cfg_opt_t *given)
{
	strcpy(kind_field(record, o->offset), cfg_opt_getnstr(given, 0));
	return 0;
}

const struct config_kind config_kind_topology = {
	.type = CFGT_STR,
	.check = kind_check_topology,
	.take = kind_take_topology,
	.is_same = kind_same_topology,
};

const struct config_kind config_kind_code = {
	.type = CFGT_STR,
	.check = kind_check_text,
	.is_same = kind_same_code,
};

const struct config_kind config_kind_address = {
	.type = CFGT_STR,
	.check = kind_check_form,
	.is_good = kind_is_address,
	.is_bad = "is not ADDRESS:PORT or [ADDRESS]:PORT with a numeric address",
	.take = kind_take_address,
	.is_same = kind_same_address,
};

const struct config_kind config_kind_join = {
	.type = CFGT_STR,
	.is_list = true,
	.check = kind_check_form,
	.is_good = kind_is_join,
	.is_bad = "is not ADDRESS or ADDRESS:PORT with a numeric address",
	.free = kind_free_pointer,
};

const struct config_kind config_kind_host = {
	.type = CFGT_STR,
	.check = kind_check_host,
	.take = kind_take_host,
};
