// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/config_rules.h"

#include <inttypes.h>
#include <stdint.h>

#include "base/config_data.h"
#include "base/config_option.h"

static const void *rules_field(const struct config *c, size_t offset)
{
	return (const char *)c + offset;
}

static void rules_print_list(const struct config *c, const struct config_option *o, FILE *to)
{
	char *const *const *items = rules_field(c, o->offset);
	const size_t *n = rules_field(c, o->count);

	fputc('{', to);
	for (size_t i = 0; i < *n; i++)
		fprintf(to, "%s \"%s\"", i ? "," : "", (*items)[i]);
	fputs(" }", to);
}

static void rules_print_value(const struct config *c, const struct config_option *o, FILE *to)
{
	const void *field = rules_field(c, o->offset);

	if (o->kind->is_list)
		rules_print_list(c, o, to);
	else if (o->kind == &config_kind_flag)
		fputs(*(const bool *)field ? "true" : "false", to);
	else if (o->kind->type == CFGT_STR)
		fprintf(to, "\"%s\"", *(char *const *)field);
	else
		fprintf(to, "%" PRIu64,
			o->size == sizeof(uint64_t) ? *(const uint64_t *)field
						    : *(const uint32_t *)field);
}

void config_rules_print(const struct config *c, FILE *to)
{
	static const char *const by[] = {
		[CONFIG_BY_EHLAUNCH] = "ehlaunch, which the agent cannot overrule",
		[CONFIG_BY_MODULE] = "the kernel module, which ehlaunch tells them",
		[CONFIG_BY_EHAGENT] = "the agent",
	};

	for (size_t rule = CONFIG_NO_RULE + 1; rule < sizeof(by) / sizeof(by[0]); rule++) {
		fprintf(to, "# enforced by %s\n", by[rule]);
		for (const struct config_option *o = config_options; o->name; o++) {
			if (o->rule != rule)
				continue;
			fprintf(to, "%s = ", o->name);
			rules_print_value(c, o, to);
			fputc('\n', to);
		}
	}
}
