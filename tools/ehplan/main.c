// SPDX-License-Identifier: GPL-2.0-or-later
/* ehplan PLANNER FILE [OPTION]...: finds the planner and parses the common options. */
#include "ehplan.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "links.h"
#include "live.h"
#include "tools/common/help.h"

static const struct planner *const planners[] = {
	&assign_planner, &gang_planner, &divide_planner, &dag_planner, NULL,
};

enum { O_ALGORITHM = 1, O_GANTT, O_FORMAT, O_SEED, O_TIME_LIMIT };

static const struct option common_options[] = {
	{ "algorithm", required_argument, NULL, O_ALGORITHM },
	{ "gantt", required_argument, NULL, O_GANTT },
	{ "format", required_argument, NULL, O_FORMAT },
	{ "seed", required_argument, NULL, O_SEED },
	{ "time-limit", required_argument, NULL, O_TIME_LIMIT },
};
#define COMMON (sizeof(common_options) / sizeof(common_options[0]))
#define OPTIONS_MAX 48

static int usage_all(FILE *to, int code)
{
	fprintf(to, "usage: ehctl plan PLANNER FILE [OPTION]... [--json] [--help]\n\n");
	for (size_t i = 0; planners[i]; i++)
		fprintf(to, "  %-7s %.*s\n", planners[i]->name,
			(int)strcspn(planners[i]->help, "\n"), planners[i]->help);
	fprintf(to, "\nWith the FILE `-`, the standard input is read. `ehctl plan PLANNER --help`\n"
		    "lists its options.\n");
	return code;
}

static void help_planner(const struct planner *p)
{
	char arguments[1024], name[64];

	snprintf(name, sizeof(name), "plan %s", p->name);
	snprintf(arguments, sizeof(arguments), "FILE %s", p->arguments);
	help_command(name, arguments, p->help);
	printf("\n"
	       "  --algorithm A      one of");
	for (size_t i = 0; p->algorithms[i]; i++)
		printf(" %s%s", p->algorithms[i], i ? "" : " (default)");
	printf("\n");
	if (p->gantt)
		printf("  --gantt FILE.svg   draw the plan as bars over time\n");
	if (p->formats) {
		printf("  --format F         print what another program reads:");
		for (size_t i = 0; p->formats[i]; i++)
			printf(" %s", p->formats[i]);
		printf("\n");
	}
	printf("  --seed S           seed of random choices (1)\n"
	       "  --time-limit S     stop after S seconds and print the best plan so far\n"
	       "  --json             print one JSON document\n");
}

static const struct planner *find_planner(const char *name)
{
	for (size_t i = 0; planners[i]; i++)
		if (!strcmp(planners[i]->name, name))
			return planners[i];
	return NULL;
}

struct reading {
	const struct planner *planner;
	struct plan_call *call;
};

static int take_option(void *ctx, int option, const char *text)
{
	const struct reading *reading = ctx;
	const struct planner *p = reading->planner;
	struct plan_call *call = reading->call;
	const char *wanted;

	switch (option) {
	case O_ALGORITHM:
		if (parse_word(p->algorithms, text) < 0)
			return bad_usage("--algorithm %s: no such algorithm", text);
		call->algorithm = text;
		return 0;
	case O_GANTT:
		if (!p->gantt)
			return bad_usage("--gantt: this plan has no times to draw");
		call->gantt = text;
		return 0;
	case O_FORMAT:
		if (!p->formats || parse_word(p->formats, text) < 0)
			return bad_usage("--format %s: no such format", text);
		call->format = text;
		return 0;
	case O_SEED:
		if (parse_count(text, UINT64_MAX, &call->seed))
			return bad_usage("--seed %s: a whole number is needed", text);
		return 0;
	case O_TIME_LIMIT:
		if (parse_real(text, 1e6, &call->watch.until) || !(call->watch.until > 0))
			return bad_usage("--time-limit %s: seconds above 0 are needed", text);
		return 0;
	default:
		wanted = p->option(call->settings, option, text);
		return wanted ? bad_usage("%s: %s", text ? text : "option", wanted) : 0;
	}
}

static int parse(const struct planner *p, struct plan_call *call, int argc, char **argv)
{
	struct option options[OPTIONS_MAX + 1] = { 0 };
	size_t count = COMMON;
	int code;

	memcpy(options, common_options, sizeof(common_options));
	for (size_t i = 0; p->options && p->options[i].name && count < OPTIONS_MAX; i++)
		options[count++] = p->options[i];
	code = options_each(argc, argv, options, take_option, &(struct reading){ p, call });
	if (code)
		return code;
	if (optind + 1 != argc)
		return bad_usage(optind == argc ? "a file is needed; - is standard input"
						: "one file only");
	return 0;
}

int main(int argc, char **argv)
{
	static char names[64], arguments[1024];
	struct plan_call call = { .seed = 1 };
	const struct planner *p;
	bool help = false;
	int code;

	/* keep freed memory: the kernel clears each page that it gives again */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	/* from make or ninja, for a build that is run by a plan */
	if (argc > 2 && (!strcmp(argv[1], "--line") || !strcmp(argv[1], "--dry-line")))
		return build_line_main(argc - 1, argv + 1);
	/* from `ehctl gang` at home, on a host of the gang */
	if (argc > 2 && !strcmp(argv[1], "--links"))
		return links_main(argc - 1, argv + 1);
	/* from ehctl, for plans that are carried out */
	if (argc > 2 && !strcmp(argv[1], "--live"))
		return live_main(argc - 2, argv + 2);
	command_name = "plan";
	argc = command_take_options(argc, argv, &call.json, &help);
	if (argc < 2)
		return command_finish(
			usage_all(help ? stdout : stderr, help ? EXIT_DONE : EXIT_USAGE));
	p = find_planner(argv[1]);
	if (!p)
		return fail(EXIT_USAGE, "%s: no such planner; `ehctl plan --help` lists them",
			    argv[1]);
	snprintf(names, sizeof(names), "plan %s", p->name);
	snprintf(arguments, sizeof(arguments), "FILE %s", p->arguments);
	command_name = names;
	command_usage = arguments;
	if (help) {
		help_planner(p);
		return command_finish(EXIT_DONE);
	}
	call.settings = malloc(p->settings_size + 1);
	if (!call.settings)
		return fail(EXIT_REFUSED, "no memory");
	if (p->defaults)
		memcpy(call.settings, p->defaults, p->settings_size);
	code = parse(p, &call, argc - 1, argv + 1);
	if (!code)
		code = call_read(argv[argc - 1], &call.name, &call.text, &call.length);
	if (!code)
		code = command_finish(p->run(&call));
	free(call.text);
	free(call.settings);
	return code;
}
